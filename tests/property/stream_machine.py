"""Streams against a plain model: random appends, lost replies, stale leases, clock jumps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from holdfast.errors import HoldfastError
from holdfast.model import merge_patch
from holdfast.model.executions import Claim, Failure, NewExecution
from holdfast.model.frames import Appended, NewFrame, Summary
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import State
from holdfast.testing.clock import START_MS
from tests.property.comparing import ComparingMachine
from tests.property.world import World, without_meta
from tests.support.invariants import violations
from tests.support.lifecycle import claim_ready

FRAMES, BYTES, AGE_MS = 6, 70, 30_000
LIVE_AGE_MS = 10_000
LEASE_MS = 20_000
IDS = ("s1", "s2")
RETRY = RetryPolicy(max_attempts=1000, backoff=Backoff(kind="fixed", initial_ms=0))

#: Number, time, attempt, type, payload.
Row = tuple[int, int, int, str, bytes]

payloads = st.sampled_from((b"", b"a", b"bb", b"ccc", b"x" * 30, b"y" * 60))
new_frames = st.builds(
    NewFrame,
    type=st.sampled_from(("text", "bytes")),
    payload=payloads,
    live=st.sampled_from((False, False, True)),
    place=st.one_of(st.none(), st.integers(1, 9)),
)
batches = st.lists(new_frames, min_size=1, max_size=4)
patch_bodies = st.sampled_from((b'{"a":1}', b'{"a":null,"b":[]}', b'{"b":{"c":2}}', b"{}"))


@dataclass
class Model:
    """One stream, as it should be."""

    last: int = 0
    at: int = 0
    attempt: int | None = None
    place: int = 0
    version: int = 0
    document: bytes = b"{}"
    kept: list[Row] = field(default_factory=list)
    live: list[Row] = field(default_factory=list)
    exists: bool = False

    def begin(self, now: int, attempt: int) -> None:
        """Note the attempt that appends next."""
        if attempt > 0 and attempt != self.attempt:
            self._add(now, attempt, "attempt", None, live=False)
        if attempt != self.attempt:
            self.attempt, self.place = attempt, 0

    def _add(self, now: int, attempt: int, kind: str, payload: bytes | None, *, live: bool) -> None:
        self.last += 1
        self.at = max(self.at, now)
        if payload is None:
            turn = "retry" if attempt else "initial"
            payload = f'{{"attempt":{attempt},"kind":"{turn}"}}'.encode()
        row = (self.last, self.at, attempt, kind, payload)
        (self.live if live else self.kept).append(row)

    def append(self, now: int, attempt: int, frames: list[NewFrame]) -> tuple[int, int]:
        """Append what was not said; returns the first and last number."""
        self.exists = True
        before = self.place if attempt == self.attempt else 0
        fresh = []
        for frame in frames:
            if frame.place is None or frame.place > before:
                before = frame.place or before
                fresh.append(frame)
        self.begin(now, attempt)
        for frame in fresh:
            self.place = frame.place or self.place
            self._add(now, attempt, frame.type, frame.payload, live=frame.live)
        self.trim()
        return self.last - len(fresh) + 1, self.last

    def trim(self) -> None:
        """Drop what is over the bounds, oldest first."""
        while self.kept and (
            len(self.kept) > FRAMES
            or sum(len(row[4]) for row in self.kept) > BYTES
            or self.kept[0][1] <= self.at - AGE_MS
        ):
            del self.kept[0]
        while self.live and self.live[0][1] <= self.at - LIVE_AGE_MS:
            del self.live[0]


class StreamMachine(ComparingMachine):
    """Every rule calls the store and the model alike."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.streams = world.store.streams
        self.now = START_MS
        self.models = {name: Model() for name in IDS}
        self.claims: list[Claim] = []
        self.batches: dict[str, tuple[Claim, list[NewFrame], Any]] = {}
        self.keys = 0

    @initialize()
    def begin(self) -> None:
        """Make the executions, with narrow bounds."""
        bounds = {"stream|*|frames": FRAMES, "stream|*|bytes": BYTES, "stream|*|age": AGE_MS}
        self.world.run(self.streams.configure(bounds))
        items = [
            NewExecution(kind="k", id=name, retry=RETRY, max_reclaims=1000, retention_ms=10**9)
            for name in IDS
        ]
        self.world.run(self.world.store.executions.create(items))

    @rule(ms=st.sampled_from((0, 1, 3_000, 9_000, 25_000)))
    def pass_time(self, *, ms: int) -> None:
        """Time passes; leases may expire."""
        self._pass(ms)

    def _pass(self, ms: int) -> None:
        self.now += ms
        self.world.run(self.world.clock.set(self.now))
        self.world.run(self.world.clock.advance_and_tick(0))

    @rule()
    def take(self) -> None:
        """Take what is ready."""
        self._claim()

    def _claim(self) -> None:
        """Claim; a new attempt of a stream is marked at once."""
        self.keys += 1
        claims = self.world.run(
            claim_ready(
                self.world.store,
                self.world.tag,
                request=f"r{self.keys}",
                worker="w",
                lanes=["default"],
                capabilities=[],
                limit=2,
                lease_ms=LEASE_MS,
            )
        )
        for claim in claims:
            model = self.models[claim.id]
            resumed = any(
                old.id == claim.id and old.lease.attempt == claim.lease.attempt
                for old in self.claims
            )
            if model.exists and not resumed:
                model.append(self.now, claim.lease.attempt, [])
                self._name_kind(model, claim)
                # The word for the kind counts, and is longer than the one that stood for it.
                model.trim()
            self.claims.append(claim)

    def _is_live(self, claim: Claim) -> bool:
        found = self.world.run(self.world.store.queries.describe(claim.id))
        newest = max((c.lease.epoch for c in self.claims if c.id == claim.id), default=0)
        return found.state is State.ACTIVE and claim.lease.epoch == newest

    @rule(work=st.lists(batches, min_size=2, max_size=6), ms=st.sampled_from((0, 0, 4_000)))
    def work(self, *, work: list[list[NewFrame]], ms: int) -> None:
        """A holder appends batch by batch; whatever is ready is claimed first."""
        self._claim()
        for frames in work:
            live = [claim for claim in self.claims if self._is_live(claim)]
            if live:
                self._append(live[len(frames) % len(live)], frames, None)
            self._pass(ms)

    @precondition(lambda self: self.claims)
    @rule(index=st.integers(0, 10), frames=batches)
    def append(self, *, index: int, frames: list[NewFrame]) -> None:
        """A holder or a former one appends."""
        claim = self.claims[-1 - index % len(self.claims)]
        self._append(claim, frames, None)

    @precondition(lambda self: self.claims)
    @rule(index=st.integers(0, 3), body=patch_bodies, old=st.booleans())
    def patch(self, *, index: int, body: bytes, old: bool) -> None:
        """A holder or a former one patches the document, or an older one of it."""
        claim = self.claims[-1 - index % len(self.claims)]
        model = self.models[claim.id]
        version = max(0, model.version - 1) if old else model.version
        document = merge_patch.merge(model.document, body)
        frame = NewFrame(type="summary", payload=body)
        self._append(claim, [frame], Summary(document=document, version=version))

    def _append(self, claim: Claim, frames: list[NewFrame], patched: Summary | None) -> None:
        self.keys += 1
        model, live, before = self.models[claim.id], self._is_live(claim), self.world.dump()
        call = self.streams.append(
            claim.id, claim.lease, frames, key=f"b{self.keys}", patched=patched
        )
        try:
            answer: Any = self.world.run(call)
        except HoldfastError:
            assert not live
            assert without_meta(self.world.dump()) == without_meta(before)
            return
        assert live
        if patched is not None and patched.version != model.version:
            assert answer == Summary(document=model.document, version=model.version)
            assert without_meta(self.world.dump()) == without_meta(before)
            return
        if patched is not None:
            model.document, model.version = patched.document, model.version + len(frames)
        first, last = model.append(self.now, claim.lease.attempt, frames)
        self._name_kind(model, claim)
        assert answer == Appended(first=first, last=last, version=model.version)
        self.batches[f"b{self.keys}"] = (claim, frames, answer)

    def _name_kind(self, model: Model, claim: Claim) -> None:
        """The mark of an attempt says its kind; the model learns it from the claim."""
        named = f'{{"attempt":{claim.lease.attempt},"kind":"{claim.attempt_kind}"}}'.encode()
        for index, row in enumerate(model.kept):
            if row[3] == "attempt" and row[2] == claim.lease.attempt:
                model.kept[index] = (*row[:4], named)

    @precondition(lambda self: self.batches)
    @rule(index=st.integers(0, 10))
    def repeat(self, *, index: int) -> None:
        """A batch is sent again, much later, whatever happened since: its first answer."""
        key = list(self.batches)[-1 - index % len(self.batches)]
        claim, frames, answer = self.batches[key]
        before = self.world.dump()
        call = self.streams.append(claim.id, claim.lease, frames, key=key)
        assert self.world.run(call) == answer
        assert without_meta(self.world.dump()) == without_meta(before)

    @precondition(lambda self: self.claims)
    @rule(index=st.integers(0, 3), how=st.sampled_from(("fail", "delay", "complete")))
    def end(self, *, index: int, how: str) -> None:
        """An attempt ends or pauses; a completed execution is replayed."""
        claim = self.claims[-1 - index % len(self.claims)]
        if not self._is_live(claim):
            return
        executions = self.world.store.executions
        if how == "fail":
            self.world.run(executions.fail(claim.id, claim.lease, Failure(type="E", message="")))
        elif how == "delay":
            self.world.run(executions.delay(claim.id, claim.lease, 0))
        else:
            self.world.run(executions.complete(claim.id, claim.lease, b"1"))
            found = self.world.run(self.streams.tail(claim.id, "p", 0, 1000))
            assert found.state is State.COMPLETED
            if found.attempt < 9:
                replay = executions.replay(claim.id, keep_steps=False, from_step="", reason="")
                self.world.run(replay)

    @rule(name=st.sampled_from(IDS), after=st.integers(0, 30), limit=st.integers(1, 5))
    def read(self, *, name: str, after: int, limit: int) -> None:
        """A part of a stream is a part of the model."""
        model = self.models[name]
        rows = sorted(row for row in (*model.kept, *model.live) if row[0] > after)
        page = self.world.run(self.streams.read(name, after, limit))
        found = [(f.id, f.attempt, f.type, f.payload) for f in page.frames]
        assert found == [(r[0], r[2], r[3], r[4]) for r in rows[:limit]]
        assert page.more == (len(rows) > limit)

    @invariant()
    def documents_agree(self) -> None:
        """The held document is what its patches make of it."""
        for name, model in self.models.items():
            try:
                found = self.world.run(self.streams.summary(name))
            except HoldfastError:
                continue
            assert (found.document, found.version) == (model.document, model.version)

    @invariant()
    def nothing_is_wrong(self) -> None:
        """The data as a whole are as they must be."""
        assert violations(self.world.dump(), self.now) == []
