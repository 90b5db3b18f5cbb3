"""Declarations of routes: roles, scope, body, query, reply and errors.

Everything else is derived from these declarations: routing, authorization, decoding, the audit
log, metrics, the OpenAPI document, and the tests that cover every route.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from starlette.responses import Response

from holdfast.errors import Conflict, HoldfastError, NotFound, OutcomeUnknown, StoreReadOnly
from holdfast.model.api_keys import Role
from holdfast.model.audit import AuditLog
from holdfast.server.http import problems
from holdfast.server.http.incoming import Incoming

if TYPE_CHECKING:
    from holdfast.server.http.call import Call

T = TypeVar("T")
Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Any]])

#: Refusals of calls that change the store, including reads that record the reader.
CHANGING = (OutcomeUnknown, StoreReadOnly)
JSON = "application/json"
ARCHIVE = "application/zip"
ANYTHING = "*/*"
#: The query of a route that takes any.
AnyQuery = dict[str, str]
#: Room for a payload of 1 MiB in base64, with its envelope.
BODY_BYTES = 2 << 20


class Scope(StrEnum):
    """Whose objects a route is about."""

    #: The caller's tenant: that of its key, or the one named with an operator key.
    TENANT = "tenant"
    #: An object of a tenant, named in the path; `owner` finds its tenant.
    OWNED = "owned"
    #: The whole system: only for keys without a tenant.
    SYSTEM = "system"
    #: Needs no key.
    PUBLIC = "public"


class Bare(StrEnum):
    """An answer that is a payload by itself."""

    #: Rules can redact parts of it.
    PAYLOAD = "payload"
    #: It is of no use with parts redacted: a file, an export, a rehearsal, a token that opens one.
    EXACT = "exact"


@dataclass(frozen=True, slots=True)
class Owner:
    """How to find the tenant of the object that a path names."""

    #: The parameter of the path.
    param: str
    #: Returns the tenant, or raises NotFound.
    find: Callable[[Call, str], Awaitable[str | None]]
    #: The error for an object that does not exist or belongs to another tenant.
    missing: Callable[[str], NotFound]
    #: The store itself refuses objects of other tenants, in the call that the handler makes.
    in_store: bool = True
    #: Parameters that are ids of the tenant: the object and its parts.
    params: frozenset[str] = frozenset({"id", "wp"})


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A reply with another status or other headers than the route declares."""

    body: T
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Route:
    """One method on one path."""

    method: str
    path: str
    handler: Callable[..., Awaitable[Any]]
    #: The noun that it belongs to.
    tag: str
    #: Any of these roles may call it.
    roles: tuple[Role, ...]
    scope: Scope
    owner: Owner | None
    #: The status of success, and others that the handler can return.
    statuses: tuple[int, ...]
    #: Its own refusals, in addition to those of every route.
    errors: tuple[type[HoldfastError], ...]
    #: Those of its refusals that are conflicts here, whatever their status elsewhere.
    conflicts: tuple[type[HoldfastError], ...]
    #: The log that records its calls; None if it changes nothing.
    audit: AuditLog | None
    #: False if what it changes is elsewhere, such as a cookie.
    changes_store: bool
    #: Whether the header `Idempotency-Key` makes it safe to repeat.
    takes_key: bool
    most_bytes: int
    #: An example body.
    example: Any
    #: Example values of query parameters.
    query_example: Mapping[str, str]
    #: The content of a successful reply that is not JSON.
    media_type: str
    #: If the answer is a payload by itself.
    bare: Bare | None
    #: Types of the parameters, taken from the handler.
    params: tuple[str, ...]
    body: Any
    query: Any
    reply: Any
    #: The documented type of the body, if it is decoded in another way.
    documented: Any

    @property
    def summary(self) -> str:
        """The first line of the handler's docstring."""
        return (inspect.getdoc(self.handler) or "").partition("\n")[0].rstrip(".")

    @property
    def description(self) -> str:
        """The handler's docstring after its first line."""
        return (inspect.getdoc(self.handler) or "").partition("\n")[2].strip()

    @property
    def name(self) -> str:
        """A name for logs, metrics and generated clients."""
        return f"{self.tag}_{self.handler.__name__}"

    @property
    def takes_query(self) -> bool:
        """Whether the handler takes the query; otherwise the query only names the tenant."""
        return "query" in self.handler.__annotations__

    @property
    def raw(self) -> bool:
        """Whether it takes any query, and any body as it is: its caller has defined them."""
        return bool(self.query == AnyQuery)

    @property
    def accepts(self) -> str:
        """The content of its body: JSON, or an archive if the handler takes bytes."""
        if self.raw or self.body is Incoming:
            return ANYTHING
        return ARCHIVE if self.body is bytes else JSON

    @property
    def reads_body(self) -> bool:
        """Whether the route reads a body; other routes accept only an empty one."""
        return self.method in {"POST", "PUT", "PATCH"}

    def status_of(self, error: type[HoldfastError]) -> int:
        """Return the status of an error of this route."""
        return problems.status_of(Conflict if issubclass(error, self.conflicts) else error)


class Routes:
    """The routes of one noun.

    A handler's parameters are `call`, those of the path by name, and `body` and `query` with the
    types to decode into; it returns the reply. `names_tenant` is the query of routes about a
    tenant's objects whose handler takes no query, and whose body does not name the tenant.
    """

    def __init__(self, tag: str, about: str, *, names_tenant: Any = None) -> None:
        self.tag = tag
        self.about = about
        self.routes: list[Route] = []
        self._names_tenant = names_tenant

    def get(self, path: str, **declared: Any) -> Callable[[Handler], Handler]:
        """Declare a GET; the keywords are those of `add`."""
        return self.add("GET", path, **declared)

    def post(self, path: str, **declared: Any) -> Callable[[Handler], Handler]:
        """Declare a POST."""
        return self.add("POST", path, **declared)

    def put(self, path: str, **declared: Any) -> Callable[[Handler], Handler]:
        """Declare a PUT."""
        return self.add("PUT", path, **declared)

    def patch(self, path: str, **declared: Any) -> Callable[[Handler], Handler]:
        """Declare a PATCH."""
        return self.add("PATCH", path, **declared)

    def delete(self, path: str, **declared: Any) -> Callable[[Handler], Handler]:
        """Declare a DELETE."""
        return self.add("DELETE", path, **declared)

    def add(
        self,
        method: str,
        path: str,
        *,
        role: Role | tuple[Role, ...] = Role.VIEWER,
        scope: Scope = Scope.TENANT,
        owner: Owner | None = None,
        status: int | tuple[int, ...] = 200,
        errors: Sequence[type[HoldfastError]] = (),
        conflicts: Sequence[type[HoldfastError]] = (),
        audit: AuditLog | None = None,
        changes_store: bool = True,
        takes_key: bool = False,
        most_bytes: int = BODY_BYTES,
        example: Any = None,
        query_example: Mapping[str, str] | None = None,
        media_type: str = JSON,
        documented: Any = None,
        bare: Bare | None = None,
    ) -> Callable[[Handler], Handler]:
        """Declare a route; the handler's signature provides the rest."""

        def declare(handler: Handler) -> Handler:
            hints, roles = get_type_hints(handler), _several(role)
            named = partial(Route, method=method, path=path, tag=self.tag, bare=bare)
            marked = partial(named, changes_store=changes_store, takes_key=takes_key)
            route = marked(
                handler=handler,
                roles=roles,
                scope=Scope.OWNED if owner else scope,
                owner=owner,
                statuses=_several(status),
                errors=tuple(errors),
                conflicts=tuple(conflicts),
                audit=audit or _default_log(method, roles),
                most_bytes=most_bytes,
                example=example,
                query_example=query_example or {},
                media_type=media_type,
                params=tuple(n for n in hints if n not in _SPECIAL),
                body=hints.get("body"),
                query=hints.get("query") or self._query(scope, hints.get("body")),
                reply=_reply_type(hints["return"]),
                documented=documented or _documented(hints.get("body")),
            )
            self.routes.append(route)
            return handler

        return declare

    def _query(self, scope: Scope, body: Any) -> Any:
        named_in_body = "tenant" in getattr(body, "__struct_fields__", ())
        return self._names_tenant if scope is Scope.TENANT and not named_in_body else None


_SPECIAL = frozenset({"call", "body", "query", "return"})


def _several(given: T | tuple[T, ...]) -> tuple[T, ...]:
    return given if isinstance(given, tuple) else (given,)


def _documented(body: Any) -> Any:
    return bytes if body is Incoming else body


def _default_log(method: str, roles: tuple[Role, ...]) -> AuditLog | None:
    # Every role may read, even where a secret in the body makes it a POST.
    if method == "GET" or roles == (Role.VIEWER,):
        return None
    often = {Role.SUBMITTER, Role.WORKER}
    return AuditLog.CALLS if often & set(roles) else AuditLog.CONTROL


def _reply_type(hint: Any) -> Any:
    """Return the type of a reply's body; None if it is empty or raw."""
    if get_origin(hint) is Answer:
        return get_args(hint)[0]
    if hint is type(None) or (isinstance(hint, type) and issubclass(hint, Response)):
        return None
    return hint
