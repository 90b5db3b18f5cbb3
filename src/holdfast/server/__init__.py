"""HTTP: the REST API, the worker protocol, live events. `routes/` says how to add a noun."""
