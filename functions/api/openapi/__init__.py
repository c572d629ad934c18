"""The OpenAPI 3.1 document of the API, made from its routes and request models: `python -m functions.api.openapi`.

    shapes       the words that schemas are written in
    asked        the parts of requests that the domain reads: schedules and targets
    schemas      what answers look like
    operations   what each route is for, what it may answer, and a request that works
    document     both put together with the routes
    parameters   what stands in paths, queries and headers
    links        which answers lead to which other operations

The document is committed as `openapi.json` beside the code, served from there, and compared with the code by a test.
Nothing here is imported by the function that answers requests. Powertools could write such a document too, but gives
every operation a 422, knows nothing of problems, and costs every cold start.
"""
