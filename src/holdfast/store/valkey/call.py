"""Calls functions of the library: one round trip, refusals as errors, retries of lost replies.

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
from holdfast.store import restrictions
from holdfast.store.restrictions import Restriction
from holdfast.store.valkey import library
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.failures import REFUSED_LOGIN, CallFailed

if TYPE_CHECKING:
    from holdfast.store.valkey.loader import Loader

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.01, 0.5
#: A library that lacks a function after this many loads is a newer one, which is kept.
_MOST_LOADS = 6

#: Answers that show a bug in Holdfast. Other errors of a server pass, so the call is repeated.
_FAULTS = ("user_function", "WRONGTYPE", "CROSSSLOT", "wrong number of arg", "unknown command")

#: Context that is kept as text in records, and is a number.
_NUMBERS = frozenset({"epoch", "revision"})

#: Refusals about things that have a name of their tenant.
_OWN = ("schedule_", "budget_", "quota_", "reservation_")

#: The sentences of refusals by the Lua library.
_SENTENCES: dict[type[HoldfastError], str] = {
    errors.ExecutionNotFound: "no execution has the id {id}",
    errors.WorkerNotFound: "no live worker is called {instance}",
    errors.StepNotFound: "execution {id} has no step {step}",
    errors.IdConflict: "id {id} already exists with different content",
    errors.IdempotencyConflict: "the idempotency key was used by {id} with different content",
    errors.LaneDraining: "lane {lane} is draining and accepts no new work",
    errors.AlreadyTerminal: "execution {id} has ended: {state}",
    errors.NotTerminal: "execution {id} has not ended: {state}",
    errors.ReplayLimit: "execution {id} was already replayed {limit} times",
    errors.TooManySteps: "execution {id} already has {limit} steps",
    errors.StaleLease: "the lease on execution {id} expired or was superseded; it is {state} now",
    errors.LeaseRevoked: "the lease on execution {id} was revoked",
    errors.ScheduleNotFound: "no schedule has the id {id}",
    errors.ScheduleConflict: (
        "schedule {id} exists with different content: change it, or use another id"
    ),
    errors.ScheduleChanged: "schedule {id} was changed in the meantime: read it again",
    errors.ScheduleMoved: "schedule {id} has passed this tick, or no longer exists",
    errors.BudgetNotFound: "no budget has the id {id}",
    errors.BudgetConflict: "budget {id} exists with different content",
    errors.BudgetTooDeep: "budget {id} already has {limit} ancestors",
    errors.ReservationNotFound: "budget {id} has no reservation with the key {key}",
    errors.QuotaNotFound: "no quota has the id {id}",
    errors.QuotaConflict: "quota {id} exists with different content",
    errors.VersionConflict: "object {key} has a different version than expected",
    errors.NotActive: "execution {id} is not running: {state}",
    errors.NotSuspended: "execution {id} is not suspended: {state}",
    errors.WaitpointNotFound: "no waitpoint has the id {id}",
    errors.WaitpointExists: "execution {id} already has an open waitpoint {name}",
    errors.WaitpointClosed: "waitpoint {id} is closed: {why}",
    errors.TooManyWaitpoints: "execution {id} cannot have more than {limit} waitpoints",
    errors.TooManySignals: "execution {id} cannot have more than {limit} signals",
    errors.InvalidToken: "the token is not valid here",
    errors.TokenExpired: "the token has expired; ask for a new one",
    errors.TokenUsedUp: "the token of waitpoint {id} was used {limit} times",
    errors.SignalNotAllowed: (
        "waitpoint {id} accepts only signals {by} {accepted}; this one is {by} {got}"
    ),
    errors.RotationConflict: "the kid {kid} was used before; choose a new one",
    errors.GraphNotFound: "no graph has the id {id}",
    errors.GraphFinished: "graph {id} has ended: {state}",
    errors.GraphNotFinished: "graph {id} has not ended: {state}",
    errors.StaleGraph: "graph {id} has changed: its version is {revision}",
    errors.InvalidGraph: "graph {id}: {problem} {member}",
    errors.MemberStarted: "member {member} of graph {id} accepts no new upstreams: it is {state}",
    errors.MemberOfGraph: "execution {id} is a member of graph {graph}: replay the graph",
    errors.NothingToReplay: "graph {id} is {state} and no failure in it counts: nothing to replay",
    errors.StagingLost: "graph {id} was not uploaded in time; submit it again",
    errors.SessionNotFound: "no session has the id {id}",
    errors.ReplyNotFound: "session {id} has no dead reply {number}",
    errors.SessionBusy: "session {id} is busy: a turn runs; try again later",
    errors.SessionFull: "session {id} already holds {limit}, its limit",
    errors.EnvNotFound: ("no env is called {env}; create it with `holdfast env put {env}`"),
    errors.PackNotFound: ("no pack has the digest {digest}; upload it first"),
    errors.DeploymentNotFound: ("env {env} has no deployment {id}"),
    errors.RevisionNotFound: ("the deployment has no revision {id}"),
    errors.GenerationNotFound: (
        "deployment {id} cannot return to generation {generation}: only the last 10 are kept"
    ),
    errors.AmbiguousDeployment: (
        "several tenants of env {env} have a deployment {id}: name the tenant"
    ),
    errors.DeploymentInUse: (
        "deployment {id} is in use by {by}, which is {lifecycle}: clear the split, and drain or "
        "archive what is served"
    ),
    errors.EnvInUse: (
        "env {env} is in use by deployment {deployment} of tenant {tenant}; delete it first"
    ),
    errors.PackInUse: "pack {digest} is in use by {by}; archive that revision first",
    errors.DeploymentConflict: ("env {env} has a deployment {id} with different content"),
    errors.PackMismatch: ("the digest is of the pack {pack}, and the deployment runs {expected}"),
    errors.UntrustedPack: (
        "env {env} trusts no key that signed {digest}: sign the pack, or let the env trust its key"
    ),
    errors.RevisionConflict: (
        "another revision has the id {id}: choose another, or let one be generated"
    ),
    errors.TooManyRevisions: ("deployment {id} has {limit} revisions, its limit: archive some"),
    errors.IllegalTransition: ("revision {id} is {lifecycle} and cannot become {to}"),
    errors.StaleLifecycle: ("revision {id} has changed: it is {lifecycle} in version {version}"),
    errors.RevisionRoutable: ("the split routes to revision {id}: move its weight to others first"),
    errors.RevisionNotReady: ("revision {id} is {lifecycle}, not ready: warm it first"),
    errors.InboxFull: (
        "the inbox of execution {id} is full: {limit} unread signals or {bytes} bytes at most"
    ),
    errors.ParentEnded: ("{id} cannot start: its parent has ended, or does not exist"),
    errors.RevisionDraining: ("{id} cannot start: its revision drains; route it to another"),
    errors.StaleGeneration: (
        "the split of deployment {id} has changed: it is generation {generation}"
    ),
    errors.RolloutNotFound: "the deployment has no rollout {id}",
    errors.RolloutActive: (
        "deployment {id} is in the rollout {rollout}: wait until it is over, or abort it"
    ),
    errors.RolloutConflict: (
        "another rollout has the id {id}: choose another, or let one be generated"
    ),
    errors.StaleRollout: "rollout {id} has changed: it is {state} in version {version}",
    errors.QueueNotFound: "no queue is called {queue}",
    errors.GroupNotFound: "queue {queue} has no group called {group!r}",
    errors.MessageNotFound: "queue {queue} has no message {id}",
    errors.QueueConflict: "queue {queue} is a {mode} queue",
    errors.InvalidDeadLetter: (
        "queue {queue} takes dead letters: it must be a work queue and have no dead_letter itself"
    ),
    errors.TooManyGroups: "queue {queue} already has {limit} groups",
    errors.QueueFull: "queue {queue} is full",
    errors.DedupConflict: "queue {queue} has a different message with this id or dedup key",
    errors.StaleDelivery: (
        "the delivery of queue {queue} was settled, or expired and now belongs to another consumer"
    ),
    errors.UnknownDelivery: "queue {queue} never issued this handle",
    errors.KeyNotFound: "no API key has the id {id}",
    errors.TooManyKeys: "the store already has {limit} API keys",
    errors.EndpointNotFound: "no endpoint is called {id} in the env {env}",
    errors.EndpointConflict: (
        "the endpoint {id} of the env {env} belongs to another tenant: choose another id"
    ),
    errors.TooManyEndpoints: "the env {env} already has {limit} endpoints",
    errors.SecretNotFound: "no secret is called {name}",
    errors.TooManySecrets: "the tenant already has {limit} secrets in this env",
    errors.StateFull: "the state of {scope} already has {names} names or {bytes} bytes",
}
REFUSALS: dict[str, tuple[type[HoldfastError], str]] = {
    kind.code: (kind, sentence) for kind, sentence in _SENTENCES.items()
}


def refusal(code: str, context: dict[str, Any]) -> HoldfastError:
    """Make the error of a refusal code."""
    if code not in REFUSALS:
        message = f"a newer library refuses the call with {code}, unknown to this version: upgrade"
        return errors.StoreIncompatible(message, refusal=code)
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
        #: Whether an outage may be under way.
        self._in_trouble = False
        self._away = Outage(
            "the store does not answer (%s); calls are retried",
            "the store answers again, after %.1f s",
        )
        self._full = Outage(
            "the store is full (%s): calls that add data are refused as store_full, calls that "
            "free memory continue",
            "the store accepts new data again, after %.1f s",
            patience_s=0,
        )

    @property
    def is_away(self) -> bool:
        """Whether the store, or a part of it, has not answered for more than a second."""
        return self._away.is_known

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
        restriction = restrictions.current()
        if restriction is not None:
            command = _restricted(command, restriction)
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
        """Send the call again until there is an answer or the deadline has passed."""
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
            if isinstance(error, errors.StoreFault) and await self._renew():
                error = None
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

    async def _renew(self) -> bool:
        """Replace an older library, which may be why a call failed; returns whether it did."""
        try:
            return await self._loader.renew()
        except CallFailed:
            return False

    def _as_script(self, command: tuple[str | bytes, ...]) -> tuple[str | bytes, ...]:
        """Return the call of a function as that of a script, which needs no library."""
        verb, function, *rest = command
        # One that only reads waits for no replica, as its function.
        eval_verb = "EVAL_RO" if verb == "FCALL_RO" else "EVAL"
        return (eval_verb, self._loader.script(str(function)), *rest)

    def _place(self, tag: str) -> str:
        """Return the part of a cluster that a call goes to: parts fail independently."""
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


def _restricted(
    command: tuple[str | bytes, ...], restriction: Restriction
) -> tuple[str | bytes, ...]:
    """Return a call with the tenant, if it is about something that the restriction names."""
    verb, function, count, tag, *args = command
    owned = library.owned_functions().get(str(function))
    if owned is None or args[owned.place] not in restriction.ids:
        return command
    restriction.checked = True
    return (verb, owned.name, count, tag, *args, restriction.tenant)


def final_error(failure: CallFailed) -> HoldfastError | None:
    """Return the error for an answer that a retry does not change."""
    text = failure.text
    if failure.is_full:
        message = "the store is full: free memory, raise maxmemory, or shorten retention"
        return errors.StoreFull(message)
    if any(word in text for word in REFUSED_LOGIN):
        return errors.StoreIncompatible(f"the store refused the user of this process: {text}")
    if failure.answered and any(word in text for word in _FAULTS):
        return errors.StoreFault(f"the store failed: {text}")
    return None


def _gave_up(
    command: tuple[str | bytes, ...], failure: CallFailed, *, maybe_done: bool
) -> HoldfastError:
    function = library.plain_name(str(command[1]))
    if maybe_done:
        message = f"no answer to {function} in time; it may have happened ({failure.text})"
        return OutcomeUnknown(message, function=function)
    if "readonly" in failure.text.lower():
        message = f"the server is a read-only replica ({failure.text})"
        return errors.StoreReadOnly(message, function=function)
    message = f"the store cannot be reached ({failure.text})"
    return StoreUnavailable(message, function=function)
