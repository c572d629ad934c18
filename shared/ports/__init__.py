"""What Carillon needs from the outside world. The docstring of a port is its contract; one suite in
`tests/contract` runs it on every adapter.
"""
