"""The state of a session: values that stay when a conversation ends and another one starts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, overload

from holdfast.api import Engine
from holdfast.model import bounds, checks
from holdfast.model.executions import Claim
from holdfast.model.sessions import StateValue, ValueChange
from holdfast.worker.durations import Duration, optional_ms
from holdfast.worker.encoding import Encoding

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_ANY = Encoding("state", Any)


@dataclass(frozen=True, slots=True)
class Versioned(Generic[T_co]):
    """A value and its version."""

    #: None: there is no value.
    value: T_co | None
    #: Goes up with every change; 0: there was never a value.
    version: int
    #: Whether the call changed it.
    changed: bool = False


class Journaled(Protocol):
    """What state needs of a conversation."""

    @property
    def claim(self) -> Claim:
        """The claim."""
        ...

    def number(self, kind: str) -> str:
        """Return the next name of an unnamed step."""
        ...

    async def recorded(self, step: str, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return the recorded result of a step, or make it, which records it."""
        ...


class ChatState:
    """Reads and changes the state of a session; every call is a step."""

    def __init__(self, chat: Journaled, engine: Engine) -> None:
        self._chat = chat
        self._engine = engine

    @overload
    async def get(self, name: str) -> Any: ...
    @overload
    async def get(self, name: str, default: T) -> T: ...
    async def get(self, name: str, default: Any = None) -> Any:
        """Return a value, or the default if there is none."""
        found = await self.read(name)
        return default if found.value is None else found.value

    async def read(self, name: str) -> Versioned[Any]:
        """Return a value with its version."""
        _check(name)
        step = self._chat.number("state")

        async def make() -> bytes:
            claim = self._chat.claim
            return _encode(await self._engine.sessions.get_state(claim.id, claim.lease, step, name))

        return state_of(await self._chat.recorded(step, make))

    async def set(self, name: str, value: Any, *, ttl: Duration | None = None) -> None:
        """Set a value, or remove it (None); it disappears after its `ttl`."""
        await self._change(name, value, None, ttl)

    async def compare_and_set(
        self, name: str, value: Any, *, expected: int, ttl: Duration | None = None
    ) -> Versioned[Any]:
        """Set a value if it still has the expected version; the answer has what is there now."""
        return await self._change(name, value, expected, ttl)

    async def _change(
        self, name: str, value: Any, expected: int | None, ttl: Duration | None
    ) -> Versioned[Any]:
        change = ValueChange(
            name=name,
            value=None if value is None else _ANY.encode(value),
            expected=expected,
            ttl_ms=optional_ms("ttl", ttl),
        )
        step = self._chat.number("state")

        async def make() -> bytes:
            claim = self._chat.claim
            sessions = self._engine.sessions
            return _encode(await sessions.set_state(claim.id, claim.lease, step, change))

        return state_of(await self._chat.recorded(step, make))


class SyncChatState:
    """The state of a session for a conversation in a thread: it blocks where ChatState awaits."""

    def __init__(self, state: ChatState, wait: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._state = state
        self._wait = wait

    @overload
    def get(self, name: str) -> Any: ...
    @overload
    def get(self, name: str, default: T) -> T: ...
    def get(self, name: str, default: Any = None) -> Any:
        """Return a value, or the default if there is none."""
        return self._wait(self._state.get(name, default))

    def read(self, name: str) -> Versioned[Any]:
        """Return a value with its version."""
        found: Versioned[Any] = self._wait(self._state.read(name))
        return found

    def set(self, name: str, value: Any, *, ttl: Duration | None = None) -> None:
        """Set a value, or remove it (None); it disappears after its `ttl`."""
        self._wait(self._state.set(name, value, ttl=ttl))

    def compare_and_set(
        self, name: str, value: Any, *, expected: int, ttl: Duration | None = None
    ) -> Versioned[Any]:
        """Set a value if it still has the expected version; the answer has what is there now."""
        changed: Versioned[Any] = self._wait(
            self._state.compare_and_set(name, value, expected=expected, ttl=ttl)
        )
        return changed


def _check(name: str) -> None:
    checks.text("name", name, bounds.NAME_CHARS, empty=False)


def _encode(found: StateValue) -> bytes:
    """Return what the store records: version, changed, value."""
    return b"%d %d %b" % (found.version, found.changed, found.value or b"")


def state_of(recorded: bytes) -> Versioned[Any]:
    """Decode what a call about the state recorded."""
    version, changed, value = recorded.split(b" ", 2)
    return Versioned(_ANY.decode(value) if value else None, int(version), changed == b"1")
