"""Transitions of executions; each method is one call of one function."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from holdfast.concurrency import all_of
from holdfast.errors import ExecutionNotFound, HoldfastError, IdConflict, IdempotencyConflict
from holdfast.model import causes, names, records
from holdfast.model.calls import Completion
from holdfast.model.executions import (
    Claim,
    ExecutionId,
    Failure,
    Lease,
    NewExecution,
    Outcome,
    Submitted,
)
from holdfast.model.frames import NewFrame
from holdfast.model.ids import id_of_key, new_id
from holdfast.model.moments import from_ms, to_ms
from holdfast.model.quotas import Window
from holdfast.model.sealing import Sealing, is_sealed
from holdfast.model.session_keys import session_of
from holdfast.model.states import State
from holdfast.store import decode
from holdfast.store.batches import Batches, accepted, refusals
from holdfast.store.domain import Domain, Partitioned
from holdfast.store.grants import Grant, Verdict, Wanted, verdict_args
from holdfast.store.items import decimal_text, encode_item
from holdfast.store.streams import frame_values
from holdfast.store.valkey.call import refusal

#: Bounds how long one call keeps the server busy, to about 2 ms.
ITEMS_IN_CALL = 100
BYTES_IN_CALL = 1 << 20
#: A key that comes together with an id is remembered at least this long after its start.
ALIAS_TTL_MS = 30 * 86_400_000


def _window_id(item: NewExecution, window: Window) -> str:
    """Mint an id in the partition of the window's key."""
    mode = "debounce" if item.debounce is not None else "throttle"
    return f"{id_of_key(item.tenant, f'{mode} {window.key}')}~{new_id()}"


class Executions(Domain):
    """Transitions of executions."""

    def __init__(self, store: Partitioned) -> None:
        super().__init__(store)
        self._creations = Batches(store.caller, "hf_execution_create")
        self._completions = Batches(store.caller, "hf_execution_complete_all")
        self._checkpoints = Batches(store.caller, "hf_execution_checkpoint_many")

    async def create(self, items: Sequence[NewExecution]) -> list[Submitted | HoldfastError]:
        """Create executions independently: an answer or an error for each, in order."""
        if self._sealing.codec is None:
            if len(items) == 1 and _is_simple(items[0]):
                return [await self._create_simple(items[0])]
            return await self._create(items)
        digests = [self._digests(item) for item in items]
        answers = await self._create(
            [
                item.saying(known[0]) if known else item
                for item, known in zip(items, digests, strict=True)
            ]
        )
        for index, known in enumerate(digests):
            # What was stored before the codec or the key is found by the digest of that time.
            for older in known[1:]:
                if not isinstance(answers[index], IdConflict | IdempotencyConflict):
                    break
                (answer,) = await self._create([items[index].saying(older)])
                if not isinstance(answer, IdConflict | IdempotencyConflict):
                    answers[index] = answer
        return answers

    def _digests(self, item: NewExecution) -> Sequence[str]:
        return self._sealing.digests(item.digest()) if item.is_named else ()

    async def _create(self, items: Sequence[NewExecution]) -> list[Submitted | HoldfastError]:
        answers: list[Submitted | HoldfastError | None] = [None] * len(items)
        calls: dict[str, list[int]] = {}
        ids: list[str] = []
        limits: list[str] = []
        for index, item in enumerate(items):
            execution_id = item.id and names.stored_id(item.tenant, item.id)
            if item.idempotency_key is not None:
                if execution_id is None:
                    execution_id = id_of_key(item.tenant, item.idempotency_key)
                else:
                    answers[index] = await self._bind_key(item, execution_id)
            elif item.window is not None:
                execution_id = _window_id(item, item.window)
            ids.append(execution_id or new_id())
            limits.append("")
            if item.budgets or item.quotas:
                try:
                    limits[index] = await self._store.attach(item)
                except HoldfastError as error:
                    answers[index] = error
            if answers[index] is None:
                calls.setdefault(self._store.tag_of(ids[index]), []).append(index)
        await all_of(
            self._create_in(tag, [(i, ids[i], limits[i]) for i in chunk], items, answers)
            for tag, indexes in calls.items()
            for chunk in _chunks(indexes, items)
        )
        return answers  # type: ignore[return-value]

    async def _create_simple(self, item: NewExecution) -> Submitted | HoldfastError:
        """Create one execution whose id is minted here, and which has no limits."""
        execution_id = new_id()
        args = (encode_item(item, execution_id), item.input)
        try:
            word, *rest = await self._creations.call(self._store.tag_of(execution_id), args)
        except HoldfastError as error:
            return error
        return await self._answer(item, execution_id, word, rest)

    async def _create_in(
        self,
        tag: str,
        chunk: list[tuple[int, str, str]],
        items: Sequence[NewExecution],
        answers: list[Submitted | HoldfastError | None],
    ) -> None:
        args: list[bytes] = []
        for index, execution_id, limits in chunk:
            item = items[index]
            args.append(encode_item(item, execution_id, limits))
            args.append(self._sealing.seal_once(item.input, "input", item.tenant))
        try:
            if len(chunk) == 1:
                replies = [await self._creations.call(tag, args)]
            else:
                replies = await self._call.write("hf_execution_create", tag, *args)
        except HoldfastError as error:
            for index, _, _ in chunk:
                answers[index] = error
            return
        for (index, execution_id, _), (word, *rest) in zip(chunk, replies, strict=True):
            answers[index] = await self._answer(items[index], execution_id, word, rest)

    async def _answer(
        self, item: NewExecution, execution_id: str, word: bytes, rest: list[bytes]
    ) -> Submitted | HoldfastError:
        if word == b"created":
            return Submitted(id=ExecutionId(execution_id), state=State(rest[0].decode()))
        return await self._taken(item, execution_id, word, rest)

    async def _taken(
        self, item: NewExecution, execution_id: str, word: bytes, rest: list[bytes]
    ) -> Submitted | HoldfastError:
        """Answer for an item that already exists, under its own id or another."""
        if item.window is not None and word == b"duplicate":
            found, state = (part.decode() for part in rest)
            return Submitted(id=ExecutionId(found), state=State(state), duplicate=True)
        other = rest[1 if word == b"no" else 0].decode()
        known = State(rest[1].decode()) if word == b"duplicate" and rest[1] else None
        if other != execution_id:
            digest = rest[2].decode() if word == b"no" else item.digest()
            known = await self._bound_state(other, digest)
            if known is None:
                await self._bind(item, execution_id, gone=other)
                (answer,) = await self._create([item])
                return answer
        if word == b"no" or known is None:
            return refusal(rest[0].decode(), {"id": other, "lane": item.lane})
        # A minted id is a duplicate only if the same call was sent twice.
        return Submitted(id=ExecutionId(other), state=known, duplicate=item.is_named)

    async def is_repetition(self, item: NewExecution) -> bool:
        """Whether an item with an id or a key of its caller was accepted before."""
        execution_id = item.id and names.stored_id(item.tenant, item.id)
        if execution_id is None and item.idempotency_key is not None:
            execution_id = id_of_key(item.tenant, item.idempotency_key)
        if execution_id is None:
            return False
        for digest in self._digests(item):
            if await self._bound_state(execution_id, digest) is not None:
                return True
        return False

    async def _bound_state(self, execution_id: str, digest: str) -> State | None:
        """Return the state of the execution that a key is bound to.

        None if the binding is void: the execution is gone, or was never created under this id.
        """
        tag = self._store.tag_of(execution_id)
        try:
            fields, *_ = await self._call.read("hf_execution_describe", tag, execution_id)
        except ExecutionNotFound:
            return None
        record = records.pairs(fields)
        return (
            State(record[b"state"].decode())
            if record.get(b"digest", b"").decode() == digest
            else None
        )

    async def _bind_key(
        self, item: NewExecution, execution_id: str
    ) -> Submitted | HoldfastError | None:
        """Bind the key of an item that also names its id; None means: create it."""
        gone = ""
        while True:
            conflict: IdempotencyConflict | None = None
            try:
                other = await self._bind(item, execution_id, gone=gone)
            except IdempotencyConflict as error:
                conflict, other = error, error.context["id"]
            if conflict is None and other == execution_id:
                return None
            digest = conflict.context["digest"] if conflict else item.digest()
            state = await self._bound_state(other, digest)
            if state is not None:
                answer = Submitted(id=ExecutionId(other), state=state, duplicate=True)
                return conflict or answer
            gone = other

    async def _bind(self, item: NewExecution, execution_id: str, *, gone: str) -> str:
        """Bind the item's key to an id, unless it is bound; returns the id it is bound to."""
        key = item.idempotency_key or ""
        derived = id_of_key(item.tenant, key)
        _, bound = await self._call.write(
            "hf_execution_alias",
            self._store.tag_of(derived),
            item.tenant,
            key,
            derived,
            execution_id,
            item.digest(),
            str(ALIAS_TTL_MS + _start_delay_ms(item)),
            gone,
        )
        return str(bound.decode())

    async def claim(self, tag: str, wanted: Wanted) -> tuple[list[Claim], list[Grant]]:
        """Lease ready executions of one partition; those with limits, leased or not, are grants."""
        rows = await self._call.write(
            "hf_execution_claim_many",
            tag,
            wanted.request,
            wanted.worker,
            str(wanted.limit),
            str(wanted.lease_ms),
            wanted.tenant or "",
            ",".join(wanted.lanes),
            ",".join(wanted.capabilities),
            "" if wanted.kinds is None else f",{','.join(wanted.kinds)},",
            "1",  # it asks the limits of what is leased, and knows lines of members
        )
        return decode.claims(rows, wanted.request, self._sealing)

    async def activate(
        self, tag: str, wanted: Wanted, verdicts: Sequence[tuple[Grant, Verdict | None]]
    ) -> list[Claim]:
        """Lease admitted executions, and hold back the others, leased or not."""
        args = (wanted.request, wanted.worker, str(wanted.lease_ms), *verdict_args(verdicts))
        rows = await self._call.write("hf_execution_activate_many", tag, *args)
        granted = {grant.execution_id: grant for grant, _ in verdicts}
        return decode.admitted(rows, wanted.request, granted, self._sealing)

    async def unblock(self, tag: str, woken: Sequence[tuple[str, str]]) -> None:
        """Make executions ready again when the limit that they wait for has room."""
        args = [part for pair in woken for part in pair]
        await self._call.write("hf_execution_unblock", tag, *args)

    async def complete(
        self,
        execution_id: str,
        lease: Lease,
        result: bytes,
        content_type: str = "",
        frames: Sequence[NewFrame] = (),
    ) -> None:
        """End an execution with its result, and with the last frames of its stream."""
        sealed = self._sealing.seal_once(result, "result", execution_id)
        given = frame_values(self._sealing, execution_id, frames) if frames else ()
        item = (execution_id, lease.fence, sealed, content_type, str(len(frames)), *given)
        accepted(await self._completions.call(self._store.tag_of(execution_id), item))

    async def complete_many(self, items: Sequence[Completion]) -> list[HoldfastError | None]:
        """End executions with their results: None or an error for each, in order."""
        calls = []
        for execution_id, lease, result, kind in items:
            sealed = self._sealing.seal_once(result, "result", execution_id)
            item = (execution_id, lease.fence, sealed, kind or "", "0")
            calls.append(self._completions.call(self._store.tag_of(execution_id), item))
        return await refusals(calls)

    async def fail(
        self, execution_id: str, lease: Lease, failure: Failure
    ) -> tuple[State, datetime | None]:
        """End an attempt with an error; returns the state and when it is tried again."""
        state, retry_at = await self._call.write(
            "hf_execution_fail",
            self._store.tag_of(execution_id),
            execution_id,
            lease.fence,
            failure.type,
            "1" if failure.retryable else "0",
            str(failure.retry_after_ms) if failure.retry_after_ms is not None else "",
            self._sealing.seal_error(failure.to_json(), execution_id),
            causes.cause_of(failure, sealed=self._sealing.sealer is not None),
        )
        return State(state.decode()), from_ms(int(retry_at)) if retry_at else None

    async def delay(self, execution_id: str, lease: Lease, delay_ms: int) -> tuple[State, datetime]:
        """Return the lease and continue the same attempt later."""
        state, run_at = await self._call.write(
            "hf_execution_delay",
            self._store.tag_of(execution_id),
            execution_id,
            lease.fence,
            str(delay_ms),
        )
        return State(state.decode()), from_ms(int(run_at))

    async def progress(self, execution_id: str, lease: Lease, pct: float, message: str) -> None:
        """Record the progress of the holder."""
        await self._call.write(
            "hf_execution_progress",
            self._store.tag_of(execution_id),
            execution_id,
            lease.fence,
            decimal_text(pct),
            message and self._sealing.seal_text(message, "note", execution_id),
        )

    async def checkpoint(self, execution_id: str, lease: Lease, name: str, result: bytes) -> bytes:
        """Record a step; returns its recorded result, which is the first one."""
        sealed = result
        if self._sealing.sealer is not None:
            sealed = self._sealing.seal(result, "step", step_scope(execution_id, name))
        item = (execution_id, lease.fence, name, sealed)
        known = accepted(await self._checkpoints.call(self._store.tag_of(execution_id), item))
        return open_step(self._sealing, execution_id, name, known[0]) if known else result

    async def continue_as(
        self, execution_id: str, lease: Lease, payload: bytes, continued: int
    ) -> None:
        """Start again with another input and an empty journal."""
        await self._call.write(
            "hf_execution_continue",
            self._store.tag_of(execution_id),
            execution_id,
            lease.fence,
            self._sealing.seal_once(payload, "continued", execution_id),
            str(continued),
        )

    async def cancel(self, execution_id: str, reason: str, request: str = "") -> None:
        """Cancel an execution that has not ended. A request is carried out once."""
        tag, request = self._store.tag_of(execution_id), request or new_id()
        await self._call.write("hf_execution_cancel", tag, execution_id, request, reason)

    async def replay(
        self, execution_id: str, *, keep_steps: bool, from_step: str, reason: str, request: str = ""
    ) -> State:
        """Run a terminal execution again. A request is carried out once."""
        (state,) = await self._call.write(
            "hf_execution_replay",
            self._store.tag_of(execution_id),
            execution_id,
            request or new_id(),
            "1" if keep_steps else "0",
            from_step,
            reason,
        )
        return State(state.decode())

    async def prioritize(self, execution_id: str, priority: int, request: str = "") -> int:
        """Change the priority; returns the previous one. A request is carried out once."""
        tag, request = self._store.tag_of(execution_id), request or new_id()
        (previous,) = await self._call.write(
            "hf_execution_prioritize", tag, execution_id, request, str(priority)
        )
        return int(previous)

    async def watch(self, execution_id: str, process: str) -> list[bytes]:
        """Return state and ending; if it has not ended, notify `process` when it does."""
        tag = self._store.tag_of(execution_id)
        return await self._call.write("hf_execution_watch", tag, execution_id, process)

    async def outcome(self, execution_id: str, process: str = "") -> Outcome | None:
        """Return how it ended; if it has not, notify `process` when it does."""
        state, *ending = await self.watch(execution_id, process)
        return (
            decode.outcome(execution_id, state, *ending, sealing=self._sealing) if ending else None
        )


def step_scope(execution_id: str, name: str) -> str:
    """Return where a step belongs."""
    return f"{execution_id}\0{name}"


def input_scopes(execution_id: str, tenant: str) -> dict[str, str]:
    """Return what the input of an execution may be sealed as, and where."""
    session = session_of(execution_id) or ""
    return {"input": tenant, "continued": execution_id, "message": session}


def open_step(sealing: Sealing, execution_id: str, name: str, result: bytes) -> bytes:
    """Return a recorded result in plain form: of a step, or of a call of a conversation."""
    if not is_sealed(result):
        return result
    session = session_of(execution_id) or ""
    step = step_scope(execution_id, name)
    return sealing.open(result, step=step, message=session, state=session)


def _start_delay_ms(item: NewExecution) -> int:
    if item.run_at is not None:
        return max(0, to_ms(item.run_at) - to_ms(datetime.now(UTC)))
    return item.delay_ms or 0


def _is_simple(item: NewExecution) -> bool:
    """Whether nothing has to be known of an item but its content."""
    return not (item.is_named or item.window or item.budgets or item.quotas)


def _chunks(indexes: list[int], items: Sequence[NewExecution]) -> list[list[int]]:
    """Split items into calls of bounded size."""
    chunks: list[list[int]] = [[]]
    size = 0
    for index in indexes:
        size += len(items[index].input)
        if len(chunks[-1]) == ITEMS_IN_CALL or (chunks[-1] and size > BYTES_IN_CALL):
            chunks.append([])
            size = len(items[index].input)
        chunks[-1].append(index)
    return chunks
