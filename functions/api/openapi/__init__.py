"""The OpenAPI 3.1 document of the API, made from its routes and request models: `python -m functions.api.openapi`.

    shapes       the words that schemas are written in
    operation    what is said of a route
    resources    by resource: what each route is for, a request that works, and what its answers look like
    answers      an example of each answer
    document     all of it put together with the routes
    parameters   what stands in paths, queries and headers
    links        which answers lead to which other operations

The document is committed as `openapi.json` beside the code, served from there, and compared with the code by a test.
Nothing here is imported by the function that answers requests. Powertools could write such a document too, but gives
every operation a 422, knows nothing of problems, and costs every cold start.
"""
