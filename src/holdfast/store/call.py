"""Calling functions of the library: one round trip, refusals as errors, retries of the unknown.

Every function is safe to send twice, so a call whose reply was lost is sent again within its
deadline and gets the first call's answer.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

from holdfast import errors
from holdfast.errors import HoldfastError, OutcomeUnknown, StoreUnavailable
from holdfast.store.client import CallFailed, Client

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.01, 0.5

#: Answers that show a bug of ours. Other errors of a server pass, so the call is repeated.
_FAULTS = ("user_function", "WRONGTYPE", "CROSSSLOT", "wrong number of arg", "unknown command")

#: Refusal codes of the Lua library: the error and its sentence.
REFUSALS: dict[str, tuple[type[HoldfastError], str]] = {
    "execution_not_found": (errors.ExecutionNotFound, "no execution has the id {id}"),
    "worker_not_found": (errors.WorkerNotFound, "no live worker is called {instance}"),
    "step_not_found": (errors.StepNotFound, "execution {id} has no step {step}"),
    "id_conflict": (errors.IdConflict, "id {id} belongs to an execution with other content"),
    "idempotency_conflict": (
        errors.IdempotencyConflict,
        "the idempotency key was used with other content, by execution {id}",
    ),
    "lane_draining": (errors.LaneDraining, "lane {lane} is draining and accepts no new work"),
    "already_terminal": (errors.AlreadyTerminal, "execution {id} has ended: {state}"),
    "not_terminal": (errors.NotTerminal, "execution {id} has not ended: {state}"),
    "replay_limit": (errors.ReplayLimit, "execution {id} was replayed {limit} times already"),
    "too_many_steps": (errors.TooManySteps, "execution {id} has {limit} steps already"),
    "stale_lease": (
        errors.StaleLease,
        "the lease on execution {id} expired or was superseded; it is {state} now",
    ),
    "lease_revoked": (errors.LeaseRevoked, "the lease on execution {id} was revoked"),
    "not_active": (errors.NotActive, "execution {id} is not running: {state}"),
    "key_not_found": (errors.KeyNotFound, "no API key has the id {id}"),
    "too_many_keys": (errors.TooManyKeys, "there are {limit} API keys already"),
}


def refusal(code: str, context: dict[str, Any]) -> HoldfastError:
    """Make the error of a refusal code."""
    kind, sentence = REFUSALS[code]
    return kind(sentence.format(**context), **context)


def refusal_of(reply: list[bytes]) -> HoldfastError:
    """Make the error of a refusal: code, then context as name, value pairs."""
    code, *pairs = (part.decode() if isinstance(part, bytes) else part for part in reply)
    return refusal(str(code), dict(zip(pairs[::2], pairs[1::2], strict=True)))


class Caller:
    """Calls functions with retries; reloads the library when a server has lost it."""

    def __init__(
        self,
        client: Client,
        *,
        timeout_ms: int,
        reload_library: Callable[[], Awaitable[None]],
    ) -> None:
        self._client = client
        self._timeout_s = timeout_ms / 1000
        self._reload_library = reload_library

    async def write(self, function: str, tag: str, *args: str | bytes) -> list[Any]:
        """Call a function that may write. Raises the refusal, if it is one."""
        return await self._call("FCALL", function, tag, args)

    async def read(self, function: str, tag: str, *args: str | bytes) -> list[Any]:
        """Call a function that only reads."""
        return await self._call("FCALL_RO", function, tag, args)

    async def _call(
        self, verb: str, function: str, tag: str, args: tuple[str | bytes, ...]
    ) -> list[Any]:
        command = (verb, function, "1", tag, *args)
        try:
            reply = await self._client.call(command)
        except CallFailed as failure:
            reply = await self._insist(command, failure)
        if reply[0] == b"ok":
            del reply[0]
            return reply  # type: ignore[no-any-return]
        raise refusal_of(reply[1:])

    async def _insist(self, command: tuple[str | bytes, ...], failure: CallFailed) -> Any:
        """Send again until there is an answer or the deadline has passed."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout_s
        pause = _FIRST_PAUSE_S
        maybe_done = False
        while True:
            maybe_done = maybe_done or failure.sent
            _raise_if_final(failure)
            if loop.time() + pause > deadline:
                raise _gave_up(command, failure, maybe_done=maybe_done) from failure
            if "Function not found" not in failure.text:
                await asyncio.sleep(pause * random.uniform(0.5, 1))  # noqa: S311
            pause = min(pause * 2, _LONGEST_PAUSE_S)
            try:
                if "Function not found" in failure.text:
                    await self._reload_library()
                return await self._client.call(command)
            except CallFailed as again:
                failure = again


def _raise_if_final(failure: CallFailed) -> None:
    """Raise for answers that repeating cannot change."""
    text = failure.text
    if "OOM" in text:
        message = "the store is full: free memory, raise maxmemory, or shorten retention"
        raise errors.StoreFull(message) from failure
    if any(word in text for word in ("NOAUTH", "WRONGPASS", "NOPERM")):
        message = f"the store refused our user: {text}"
        raise errors.StoreIncompatible(message) from failure
    if failure.answered and any(word in text for word in _FAULTS):
        message = f"the store failed: {text}"
        raise errors.StoreFault(message) from failure


def _gave_up(
    command: tuple[str | bytes, ...], failure: CallFailed, *, maybe_done: bool
) -> HoldfastError:
    verb, function = str(command[0]), str(command[1])
    if maybe_done and verb == "FCALL":
        message = f"no answer to {function} in time; it may have happened ({failure.text})"
        return OutcomeUnknown(message, function=function)
    message = f"the store cannot be reached ({failure.text})"
    return StoreUnavailable(message, function=function)
