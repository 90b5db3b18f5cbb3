"""The HTTP server: REST API, worker protocol, live events. See `routes/` for adding a noun."""
