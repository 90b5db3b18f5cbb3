"""The routes, one module per noun.

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
           takes_key=True,                # a repetition with its Idempotency-Key is recognised
       )
       async def poke(call: Call, id: str, body: PokeBody) -> ThingView:
           '''Poke a thing.

           The first line is the summary in the OpenAPI document, the rest the description.
           '''
           return ThingView.of(await call.engine.things.poke(id, body.reason))

   Bodies derive from `fields.Body`, queries from `fields.Query`, replies from `fields.View`;
   annotate fields with the types of `fields.py`. `call.tenant` is the tenant that a route of scope
   TENANT acts for: the key's own, or the one that a field `tenant` of body or query names; one
   of another tenant is refused before the handler runs. If an object named in the path belongs to
   a tenant, give its `Owner`; objects of other tenants then appear not to exist. The store checks
   the owner in the handler's first call about the object, so a handler calls the store before it
   does anything else. Raise errors of `holdfast.errors`; `problems.py` knows the status of each
   family. The modules of this package are found automatically.
2. Add a sample to `tests/server/samples.py`: how to create one in a tenant, returning the values of
   the path's parameters. The tests of authorization, tenants, errors, OpenAPI and fuzzing
   come from the table, and fail for a noun without a sample.
3. Add `tests/server/answers/NOUN.py`: how to provoke each further status and each error that a
   route declares. Faults of the store need no entry: routes that take memory declare StoreFull,
   reads that write declare `CHANGING`, and a test compares.
4. `python -m tests.server.record_examples` records an example of each answer.

Nothing else is needed: authentication, roles, tenants, rate limits, decoding, strictness, size
limits, problems, the audit log, metrics and the OpenAPI document come from the declaration.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from holdfast.server.http.declare import Route, Routes
from holdfast.server.routes import docs


def _nouns() -> list[Routes]:
    """Return the routes of every module here, by tag; `docs` describes them."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    tables: list[Routes] = [module.routes for module in modules if module is not docs]
    return sorted(tables, key=lambda table: table.tag)


_NOUNS = _nouns()
TABLES: tuple[Routes, ...] = (*_NOUNS, docs.about(_NOUNS))


def all_routes() -> list[Route]:
    """Return every route."""
    return [route for table in TABLES for route in table.routes]
