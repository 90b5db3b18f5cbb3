"""The routes, one module for each noun.

To add a noun:

1. Write `routes/NOUN.py` with `routes = Routes("NOUN", "What it is.")` and a handler for each
   route, declared with `@routes.get(path, ...)`, `.post`, `.put`, `.patch` or `.delete`:

       @routes.post(
           "/v1/things/{id}/poke",
           role=Role.OPERATOR,            # any role may read, so GETs need none
           owner=owners.THING,            # or scope=Scope.TENANT (default), SYSTEM, PUBLIC
           status=200,                    # several: (201, 200), the first is the default
           errors=(AlreadyPoked,),        # its own refusals; those of all routes are implied
           example={"reason": "why not"}, # a body that fits
       )
       async def poke(call: Call, id: str, body: PokeBody) -> ThingView:
           '''Poke a thing.

           The first line is its summary in the OpenAPI document, the rest its description.
           '''
           return ThingView.of(await call.engine.things.poke(id, body.reason))

   Bodies derive from `fields.Body`, queries from `fields.Query`, replies from `fields.View`;
   annotate fields with the types of `fields.py`. `call.tenant` is the tenant that a route of scope
   TENANT acts for: the key's own, or the one that a field `tenant` of body or query names; a
   foreign one was refused before the handler runs. A thing named in the path belongs to a tenant:
   give its `Owner`, and somebody else's looks as if it were not there. Raise errors of
   `holdfast.errors`; `problems.py` knows the status of each family.
2. Add the module to `_NOUNS` below.
3. Add a sample to `tests/server/samples.py`: how to make one in a tenant, returning the values of
   the path's parameters. The tests of authorization, tenants, errors, OpenAPI and fuzzing are made
   from the table, and fail for a noun without a sample.
4. Add `tests/server/answers/NOUN.py`: a way to each further status and to each error that a route
   declares, which are all provoked. What the store's faults lead to needs none: the routes that
   take memory declare StoreFull, reads that write declare `CHANGING`, and a test compares.
5. `python -m tests.server.record_examples` records an example of each answer.

Nothing else: authentication, roles, tenants, rate limits, decoding, strictness, size limits,
problems, the audit log, metrics, the OpenAPI document come from the declaration.
"""

from __future__ import annotations

from holdfast.server.http.declare import Route, Routes
from holdfast.server.routes import (
    answer,
    archive,
    audit,
    budgets,
    conversations,
    docs,
    events,
    executions,
    graphs,
    keyring,
    keys,
    lanes,
    leases,
    messages,
    operability,
    operator_calls,
    queues,
    quotas,
    rules,
    schedules,
    sessions,
    settings,
    signals,
    streams,
    system,
    tasks,
    waitpoints,
    worker_calls,
    worker_sessions,
    worker_spending,
    worker_waitpoints,
    workers,
    writer_leases,
)

_NOUNS: tuple[Routes, ...] = (
    executions.routes,
    events.routes,
    operator_calls.routes,
    workers.routes,
    leases.routes,
    worker_calls.routes,
    worker_waitpoints.routes,
    waitpoints.routes,
    signals.routes,
    answer.routes,
    conversations.routes,
    sessions.routes,
    worker_sessions.routes,
    keyring.routes,
    streams.routes,
    graphs.routes,
    lanes.routes,
    tasks.routes,
    queues.routes,
    messages.routes,
    budgets.routes,
    worker_spending.routes,
    quotas.routes,
    rules.routes,
    schedules.routes,
    writer_leases.routes,
    archive.routes,
    settings.routes,
    keys.routes,
    audit.routes,
    operability.routes,
    system.routes,
)
TABLES: tuple[Routes, ...] = (*_NOUNS, docs.about(_NOUNS))


def all_routes() -> list[Route]:
    """Return every route."""
    return [route for table in TABLES for route in table.routes]
