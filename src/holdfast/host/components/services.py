"""What the host does for components, each request checked against the tenant and the pack."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from holdfast.errors import HoldfastError, InvalidInput, StoreUnavailable, VersionConflict
from holdfast.host.components import requests
from holdfast.host.components.requests import (
    Emit,
    HttpSend,
    Log,
    SecretGet,
    StateGet,
    StateRemove,
    StateSet,
)
from holdfast.host.components.revealed import Revealed
from holdfast.host.components.states import PackStates
from holdfast.host.flows.runners import HttpCall, Invocation, NodeFailed, Secret
from holdfast.host.grants import Grant
from holdfast.host.vault import Vault
from holdfast.host.web.client import Web
from holdfast.host.web.nodes import HttpNodes
from holdfast.model import bounds, checks
from holdfast.model.pack_states import StateScope

#: Bounds of one call of a component.
MOST_REQUESTS = 1_000
MOST_EMITTED = 50
MOST_LOGGED = 100
LOG_CHARS = 2_000
#: Codes that say that the pack may not do this.
_DENIALS = frozenset({"secret_denied", "secret_missing", "http_denied", "not_supported"})
_log = logging.getLogger("holdfast.components")


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What the host has for components; a service that it lacks is refused."""

    states: PackStates | None = None
    vault: Vault | None = None
    web: Web | None = None


class Requests:
    """The requests of one call."""

    def __init__(self, services: Services, grant: Grant, component: str, about: Invocation) -> None:
        self._services = services
        self._grant = grant
        self._component = component
        self._about = about
        self._left = MOST_REQUESTS
        self._logged = 0
        self._sent = 0
        #: Replies, which are said when the outcome of the node is recorded.
        self.emitted: list[dict[str, Any]] = []
        self.revealed = Revealed()
        #: What was refused first, and its code.
        self.denied: NodeFailed | None = None

    def deny(self, code: str, message: str) -> None:
        """Note that something was refused."""
        self.denied = self.denied or NodeFailed(code, message)

    async def answer(self, data: bytes) -> bytes:
        """Return the answer to a request. It never fails."""
        try:
            found: dict[str, Any] = {"ok": await self._answer(data)}
        except NodeFailed as failure:
            if failure.code in _DENIALS:
                self.deny(failure.code, str(failure))
            found = {"error": failure.as_value()}
        except Exception as error:  # noqa: BLE001 - WASM cannot get an exception
            # Its words may hold anything, such as a secret.
            _log.error("a request of %s failed: %s", self._component, type(error).__name__)
            return _error("internal", "the request failed")
        encoded = msgspec.json.encode(found)
        if len(encoded) > requests.REQUEST_BYTES:
            return _error("answer_too_large", "the answer is larger than 1 MiB")
        return encoded

    async def _answer(self, data: bytes) -> Any:
        self._left -= 1
        if self._left < 0:
            raise NodeFailed("too_many_requests", f"a call makes at most {MOST_REQUESTS} requests")
        if len(data) > requests.REQUEST_BYTES:
            raise NodeFailed("invalid_request", "the request is larger than 1 MiB")
        try:
            request = requests.decode(data)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            message = f"the request is not one that the host knows: {error}"
            raise NodeFailed("invalid_request", message[:300]) from None
        handle = _HANDLERS[type(request)]
        try:
            return await handle(self, request)
        except VersionConflict as error:
            message = "the value has another version than the given one"
            raise NodeFailed("state_conflict", message, retryable=True) from error
        except InvalidInput as error:
            raise NodeFailed("invalid_request", error.message) from error
        except HoldfastError as error:
            is_passing = isinstance(error, StoreUnavailable)
            raise NodeFailed(error.code, error.message, retryable=is_passing) from error

    async def _state_get(self, request: StateGet) -> Any:
        value = (await self._states.get(self._scope, [request.key]))[request.key]
        return None if value is None else {"value": value.value, "version": value.version}

    async def _state_set(self, request: StateSet) -> Any:
        version = await self._states.set(
            self._scope,
            request.key,
            request.value,
            version=request.version,
            ttl_ms=request.ttl_ms,
        )
        return {"version": version}

    async def _state_remove(self, request: StateRemove) -> Any:
        return await self._states.remove(self._scope, request.key, version=request.version)

    @property
    def _states(self) -> PackStates:
        if self._services.states is None:
            raise NodeFailed("not_supported", "this host has no state of tenants")
        return self._services.states

    @property
    def _scope(self) -> StateScope:
        about = self._about
        return StateScope(env=about.env, tenant=about.tenant, pack=self._grant.pack)

    async def _secret_get(self, request: SecretGet) -> str:
        secret = await self._vault.reveal(request.name, self._grant, self._about)
        self.revealed.add(secret)
        return secret

    @property
    def _vault(self) -> Vault:
        return self._services.vault or _NO_VAULT

    async def _http_send(self, request: HttpSend) -> Any:
        if self._services.web is None:
            raise NodeFailed("not_supported", "this host calls no web servers")
        secrets = {name: Secret(name=of) for name, of in request.secret_headers.items()}
        call = HttpCall(
            method=request.method,
            url=request.url,
            headers={**request.headers, **secrets},
            json=None if request.json is msgspec.UNSET else request.json,
            has_body=request.json is not msgspec.UNSET,
            about=replace(self._about, idempotency_key=self._next_key()),
        )
        nodes = HttpNodes(self._services.web, self._vault, {self._about.flow: self._grant})
        return await nodes(call)

    def _next_key(self) -> str:
        """Return a key of its own for each web call, the same in every attempt."""
        self._sent += 1
        return f"{self._about.idempotency_key}:{self._sent}"

    async def _write_log(self, request: Log) -> None:
        self._logged += 1
        if self._logged > MOST_LOGGED:
            return
        about = self._about
        place = f"{self._grant.pack}.{self._component} of {about.tenant}, {about.execution}"
        text = self.revealed.masked(request.message)[:LOG_CHARS]
        level = logging.getLevelNamesMapping()[request.level.upper()]
        # One line each, so that a component cannot write lines that look like another's.
        _log.log(level, "%s: %r", place, text)

    async def _emit(self, request: Emit) -> None:
        if len(self.emitted) >= MOST_EMITTED:
            raise NodeFailed("too_many_replies", f"a call emits at most {MOST_EMITTED} replies")
        encoded = msgspec.json.encode(request.activity)
        checks.payload("activity", encoded, bounds.MESSAGE_BYTES)
        if self.revealed.within(encoded):
            raise NodeFailed("secret_denied", "a reply may not contain a secret")
        self.emitted.append(request.activity)


class _NoKeeper:
    """Knows no secrets."""

    async def reveal(self, name: str, *, tenant: str, env: str) -> str:
        """Refuse."""
        del name, tenant, env
        raise NodeFailed("not_supported", "this host has no secrets")


_NO_VAULT = Vault(_NoKeeper())
_HANDLERS: dict[type, Callable[[Requests, Any], Awaitable[Any]]] = {
    StateGet: Requests._state_get,  # noqa: SLF001 - the table belongs to the class
    StateSet: Requests._state_set,  # noqa: SLF001
    StateRemove: Requests._state_remove,  # noqa: SLF001
    SecretGet: Requests._secret_get,  # noqa: SLF001
    HttpSend: Requests._http_send,  # noqa: SLF001
    Log: Requests._write_log,  # noqa: SLF001
    Emit: Requests._emit,  # noqa: SLF001
}


def _error(code: str, message: str) -> bytes:
    return msgspec.json.encode({"error": NodeFailed(code, message).as_value()})
