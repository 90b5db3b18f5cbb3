"""Calling functions of the library: one round trip, refusals as errors, retries of the unknown.

Every function is safe to send twice, so a call whose reply was lost is sent again within its
deadline and gets the first call's answer.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

from holdfast import errors
from holdfast.errors import HoldfastError, OutcomeUnknown, StoreUnavailable
from holdfast.model import names
from holdfast.outages import Outage
from holdfast.store.valkey import library
from holdfast.store.valkey.client import CallFailed, Client

if TYPE_CHECKING:
    from holdfast.store.valkey.loader import Loader

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.01, 0.5
#: A library that lacks a function after this many loads is a newer one, which is kept.
_MOST_LOADS = 6

#: Answers that show a bug of ours. Other errors of a server pass, so the call is repeated.
_FAULTS = ("user_function", "WRONGTYPE", "CROSSSLOT", "wrong number of arg", "unknown command")

#: Context that is kept as text in records, and is a number.
_NUMBERS = frozenset({"epoch", "revision"})

#: Refusals about things that have a name of their tenant.
_OWN = ("schedule_", "budget_", "quota_", "reservation_")

#: Refusal codes of the Lua library: the error and its sentence.
REFUSALS: dict[str, tuple[type[HoldfastError], str]] = {
    "execution_not_found": (errors.ExecutionNotFound, "no execution has the id {id}"),
    "worker_not_found": (errors.WorkerNotFound, "no live worker is called {instance}"),
    "step_not_found": (errors.StepNotFound, "execution {id} has no step {step}"),
    "id_conflict": (errors.IdConflict, "id {id} belongs to something with other content"),
    "idempotency_conflict": (
        errors.IdempotencyConflict,
        "the idempotency key was used with other content, by {id}",
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
    "schedule_not_found": (errors.ScheduleNotFound, "no schedule has the id {id}"),
    "schedule_conflict": (
        errors.ScheduleConflict,
        "schedule {id} exists and says something else: change it, or use another id",
    ),
    "schedule_changed": (errors.ScheduleChanged, "schedule {id} was changed meanwhile"),
    "schedule_moved": (errors.ScheduleMoved, "schedule {id} has moved on, or is gone"),
    "budget_not_found": (errors.BudgetNotFound, "no budget has the id {id}"),
    "budget_conflict": (errors.BudgetConflict, "budget {id} exists with other content"),
    "budget_too_deep": (errors.BudgetTooDeep, "budget {id} has {limit} ancestors already"),
    "reservation_not_found": (
        errors.ReservationNotFound,
        "budget {id} has no reservation with the key {key}",
    ),
    "quota_not_found": (errors.QuotaNotFound, "no quota has the id {id}"),
    "quota_conflict": (errors.QuotaConflict, "quota {id} exists with other content"),
    "version_conflict": (errors.VersionConflict, "object {key} is not as expected"),
    "not_active": (errors.NotActive, "execution {id} is not running: {state}"),
    "not_suspended": (errors.NotSuspended, "execution {id} is not suspended: {state}"),
    "waitpoint_not_found": (errors.WaitpointNotFound, "there is no waitpoint {id}"),
    "waitpoint_exists": (
        errors.WaitpointExists,
        "execution {id} has an open waitpoint {name} already",
    ),
    "waitpoint_closed": (errors.WaitpointClosed, "waitpoint {id} is closed: {why}"),
    "too_many_waitpoints": (
        errors.TooManyWaitpoints,
        "execution {id} cannot have more than {limit} waitpoints",
    ),
    "too_many_signals": (
        errors.TooManySignals,
        "execution {id} cannot have more than {limit} signals",
    ),
    "invalid_token": (errors.InvalidToken, "the token is not valid here"),
    "token_expired": (errors.TokenExpired, "the token has expired; ask for a new one"),
    "token_used_up": (errors.TokenUsedUp, "the token of waitpoint {id} was used {limit} times"),
    "signal_not_allowed": (
        errors.SignalNotAllowed,
        "waitpoint {id} accepts only signals {by} {accepted}; this one is {by} {got}",
    ),
    "rotation_conflict": (
        errors.RotationConflict,
        "the kid {kid} is taken; choose one that was never used",
    ),
    "graph_not_found": (errors.GraphNotFound, "no graph has the id {id}"),
    "graph_finished": (errors.GraphFinished, "graph {id} has ended: {state}"),
    "graph_not_finished": (errors.GraphNotFinished, "graph {id} has not ended: {state}"),
    "stale_graph_revision": (
        errors.StaleGraph,
        "graph {id} has changed: its version is {revision}",
    ),
    "invalid_graph": (errors.InvalidGraph, "graph {id}: {problem} {member}"),
    "member_started": (
        errors.MemberStarted,
        "member {member} of graph {id} takes no new upstreams: it is {state}",
    ),
    "member_of_graph": (
        errors.MemberOfGraph,
        "execution {id} is a member of graph {graph}: replay the graph",
    ),
    "nothing_to_replay": (
        errors.NothingToReplay,
        "graph {id} is {state} and no failure in it counts: nothing to replay",
    ),
    "staging_lost": (errors.StagingLost, "graph {id} was not put in place in time; submit again"),
    "session_not_found": (errors.SessionNotFound, "no session has the id {id}"),
    "reply_not_found": (errors.ReplyNotFound, "session {id} has no dead reply {number}"),
    "session_busy": (errors.SessionBusy, "session {id} is busy: a turn runs; try again later"),
    "session_full": (errors.SessionFull, "session {id} holds {limit} already, its limit"),
    "queue_not_found": (errors.QueueNotFound, "no queue is called {queue}"),
    "group_not_found": (errors.GroupNotFound, "queue {queue} has no group called {group!r}"),
    "message_not_found": (errors.MessageNotFound, "queue {queue} has no message {id}"),
    "queue_conflict": (errors.QueueConflict, "queue {queue} is a {mode} queue"),
    "invalid_dead_letter": (
        errors.InvalidDeadLetter,
        "queue {queue} takes dead letters: it must be a work queue and have no dead_letter itself",
    ),
    "too_many_groups": (errors.TooManyGroups, "queue {queue} has {limit} groups already"),
    "queue_full": (errors.QueueFull, "queue {queue} is full"),
    "dedup_conflict": (
        errors.DedupConflict,
        "queue {queue} got another message with this id or dedup key",
    ),
    "stale_delivery": (
        errors.StaleDelivery,
        "the delivery of queue {queue} was settled, or has expired and is another's now",
    ),
    "unknown_delivery": (errors.UnknownDelivery, "queue {queue} never issued this handle"),
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
    context = dict(zip(pairs[::2], pairs[1::2], strict=True))
    if code.startswith(_OWN):
        # As the tenant knows it that asked for it.
        parse = names.parse_id if code.startswith("schedule_") else names.parse
        _, context["id"] = parse(context["id"])
    return refusal(str(code), {k: int(v) if k in _NUMBERS else v for k, v in context.items()})


class Caller:
    """Calls functions with retries; reloads the library when a server has lost it."""

    def __init__(self, client: Client, *, timeout_ms: int, loader: Loader) -> None:
        self._client = client
        self._timeout_s = timeout_ms / 1000
        self._loader = loader
        #: Whether one of these may be going on.
        self._in_trouble = False
        self._away = Outage(
            "the store does not answer (%s); calls are repeated",
            "the store answers again, after %.1f s",
        )
        self._full = Outage(
            "the store is full (%s): what adds data is refused as store_full, what frees memory "
            "goes on",
            "the store takes new data again, after %.1f s",
            patience_s=0,
        )

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
        if self._in_trouble:
            self._note_answer(function, tag)
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
        loads = 0
        while True:
            is_missing = "Function not found" in failure.text
            error = final_error(failure)
            self._note_failure(command, failure, error)
            if is_missing and loads == _MOST_LOADS:
                message = f"the store has a newer library, without {command[1]!s}: upgrade"
                error = errors.StoreIncompatible(message)
            # What may have happened is no less so for what a later try is answered.
            if error is not None and not maybe_done:
                raise error from failure
            maybe_done = maybe_done or (failure.sent and command[0] == "FCALL")
            if loop.time() + pause > deadline:
                raise _gave_up(command, failure, maybe_done=maybe_done) from failure
            if loads or not is_missing:
                await asyncio.sleep(pause * random.uniform(0.5, 1))  # noqa: S311
            pause = min(pause * 2, _LONGEST_PAUSE_S)
            try:
                if is_missing:
                    loads += 1
                    if not await self._loader.load():
                        return await self._client.call(self._as_script(command))
                return await self._client.call(command)
            except CallFailed as again:
                failure = again

    def _as_script(self, command: tuple[str | bytes, ...]) -> tuple[str | bytes, ...]:
        """Return the call of a function as that of a script, which needs no library."""
        _, function, *rest = command
        return ("EVAL", self._loader.script(str(function)), *rest)

    def _place(self, tag: str) -> str:
        """Return what may fail on its own: the parts of a cluster do."""
        return tag if self._client.cluster else ""

    def _note_failure(
        self, command: tuple[str | bytes, ...], failure: CallFailed, error: HoldfastError | None
    ) -> None:
        place = self._place(str(command[3]))
        if failure.is_full:
            self._full.failed(failure.text, place)
        elif error is None and "Function not found" not in failure.text:
            self._away.failed(failure.text, place)
        self._in_trouble = True

    def _note_answer(self, function: str, tag: str) -> None:
        self._away.worked(self._place(tag))
        if library.adds_data(function):
            self._full.worked(self._place(tag))
        self._in_trouble = self._away.suspected or self._full.suspected


def final_error(failure: CallFailed) -> HoldfastError | None:
    """Return the error of an answer that repeating does not change."""
    text = failure.text
    if failure.is_full:
        message = "the store is full: free memory, raise maxmemory, or shorten retention"
        return errors.StoreFull(message)
    if any(word in text for word in ("NOAUTH", "WRONGPASS", "NOPERM")):
        return errors.StoreIncompatible(f"the store refused our user: {text}")
    if failure.answered and any(word in text for word in _FAULTS):
        return errors.StoreFault(f"the store failed: {text}")
    return None


def _gave_up(
    command: tuple[str | bytes, ...], failure: CallFailed, *, maybe_done: bool
) -> HoldfastError:
    function = str(command[1])
    if maybe_done:
        message = f"no answer to {function} in time; it may have happened ({failure.text})"
        return OutcomeUnknown(message, function=function)
    if "readonly" in failure.text.lower():
        message = f"the server is a read-only replica ({failure.text})"
        return errors.StoreReadOnly(message, function=function)
    message = f"the store cannot be reached ({failure.text})"
    return StoreUnavailable(message, function=function)
