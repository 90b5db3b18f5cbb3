"""The rules of the state machine of queues: random calls against a real store and the model.

Replies are lost, clocks jump, handles are used late, repeatedly and on the wrong queue.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from holdfast.errors import HoldfastError
from holdfast.model.deliveries import Settle
from holdfast.model.messages import NewMessage, Start
from holdfast.model.moments import from_ms
from holdfast.model.queues import QueueSettings
from holdfast.queues import Queues
from holdfast.queues.outbox import QueueOutboxes
from holdfast.testing.clock import START_MS, TimedQueues
from tests.property.comparing import ComparingMachine, Refused
from tests.property.queue_model import QueueModel
from tests.property.world import World

GROUPS = ("g1", "g2", "g3")
CONSUMERS = ("c1", "c2")
MOST_MESSAGES = 30

indexes = st.integers(0, 30)


def _rarely(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from((None,) * 4 + values)


messages = st.builds(
    lambda **fields: NewMessage(**{k: v for k, v in fields.items() if v is not None}),
    payload=st.sampled_from((b"1", b"2", b"x" * 100)),
    id=_rarely("a", "b", "c"),
    dedup=_rarely("d1", "d2"),
    key=st.sampled_from((None, None, "k1", "k2")),
    priority=_rarely(1, 5, -3),
    delay_ms=_rarely(300, 2_000),
    ttl_ms=_rarely(500, 5_000),
    side=_rarely("left"),
)
definitions = st.builds(
    QueueSettings,
    mode=st.sampled_from(("work", "fanout")),
    max_attempts=st.integers(1, 3),
    lock_ms=st.sampled_from((1_000, 3_000)),
    dead_letter=st.sampled_from((None, "dead")),
    backoff=st.sampled_from(((), (400,), (0, 1_500))),
    dedup_window_ms=st.sampled_from((0, 1_000, 60_000)),
    ttl_ms=_rarely(4_000),
    max_size=_rarely(5, 20),
    priority=st.booleans(),
    ageing_ms=st.just(777),
    max_in_flight=_rarely(2, 5),
    max_in_flight_per_consumer=_rarely(1, 3),
)


class QueueMachine(ComparingMachine):
    """Every rule calls the store and the model alike, and compares their answers."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        world.store.queues = TimedQueues(world.store)
        self.queues = Queues(world.store)
        self.minted = 0

    @initialize(settings=definitions, groups=st.integers(0, 3))
    def begin(self, *, settings: QueueSettings, groups: int) -> None:
        """Begin with a queue and, if it is FANOUT, with groups."""
        self.world.run(self.queues.define("q", settings))
        self.world.run(self.queues.define("other"))
        self.model = QueueModel(settings, START_MS)
        if settings.mode == "fanout":
            for group in GROUPS[:groups]:
                self._add_group(group, "first", None)
        self.dead = 0

    @property
    def groups(self) -> list[str]:
        """Groups to choose from, one that does not exist if there are none."""
        return self.model.groups or ["nobody"]

    @precondition(lambda self: len(self.model.messages) < MOST_MESSAGES)
    @rule(batch=st.lists(messages, min_size=1, max_size=4))
    def push(self, *, batch: list[NewMessage]) -> None:
        """Push several at once, which may repeat or contradict each other."""
        answers = self.world.run(self.queues.push_many("q", batch))
        self.model.fire()
        for item, answer in zip(batch, answers, strict=True):
            minted = getattr(answer, "id", "refused")
            try:
                expected: Any = self.model.push(item, minted)
            except Refused as refusal:
                expected = refusal.code
            got = (
                answer.code if isinstance(answer, HoldfastError) else (answer.id, answer.duplicate)
            )
            assert got == expected

    @rule(
        index=indexes,
        consumer=st.sampled_from(CONSUMERS),
        count=st.integers(1, 4),
        side=st.sampled_from(("left", "left", "right")),
        verbs=st.lists(st.sampled_from(("ack", "nack", "release", "reject", None)), max_size=4),
    )
    def read(self, *, index: int, consumer: str, count: int, side: Any, verbs: list[Any]) -> None:
        """Read, and do something with some of it."""
        group = self.groups[index % len(self.groups)]
        held: list[str] = []

        async def call() -> list[tuple[str, int]]:
            found = await self.queues.read(
                "q", group=group, consumer=consumer, count=count, side=side
            )
            held.extend(delivery.handle for delivery in found)
            for delivery in found:
                assert delivery.deadline == from_ms(self.model.now + self.model.settings.lock_ms)
            return [(delivery.message.id, delivery.message.attempt) for delivery in found]

        expected: list[tuple[str, int]] = []

        def expect() -> list[tuple[str, int]]:
            expected.extend(self.model.read(group, consumer, count, side))
            return expected

        self._agree(call(), expect)
        ids = [message_id for message_id, _ in expected]
        self.model.name_handles(group, zip(ids, held, strict=True))
        for handle, verb in zip(held, verbs, strict=False):
            if verb is not None:
                self._settle(verb, handle, None)

    @rule(
        index=indexes,
        verb=st.sampled_from(("ack", "ack", "nack", "release", "reject", "extend")),
        which=st.sampled_from(("flight", "flight", "late", "old", "foreign")),
        delay=st.sampled_from((None, None, 0, 700)),
    )
    def settle(self, *, index: int, verb: str, which: str, delay: int | None) -> None:
        """Settle a delivery that is under way, or late, or long gone, or another queue's."""
        found = {
            "flight": self.model.handles(lambda part: part.state == "flight"),
            "late": self.model.handles(lambda part: part.late),
            "old": sorted(self.model.issued),
            "foreign": ["0" * 32 + "-1-abcdef012345"],
        }[which]
        if not found:
            return
        handle = found[index % len(found)]
        if verb == "extend":
            self._extend(handle, delay)
        else:
            self._settle(verb, handle, delay)

    def _settle(self, verb: Any, handle: str, delay: int | None) -> None:
        lossy = self.world.caller.lossy

        async def call() -> Any:
            item = Settle(handle=handle, delay_ms=delay, reason="because")
            (answer,) = await self.queues.settle("q", verb, [item])
            if isinstance(answer, HoldfastError):
                raise answer
            return answer.repeated

        self._agree(call(), lambda: self.model.settle(verb, handle, delay) or lossy)

    def _extend(self, handle: str, ms: int | None) -> None:
        async def call() -> Any:
            (answer,) = await self.queues.extend("q", [(handle, ms or None)])
            if isinstance(answer, HoldfastError):
                raise answer
            return answer

        self._agree(call(), lambda: from_ms(self.model.extend(handle, ms)))

    @rule(
        index=indexes,
        consumer=st.sampled_from(CONSUMERS),
        idle=st.sampled_from((0, 500, 2_000)),
        count=st.integers(1, 3),
    )
    def claim(self, *, index: int, consumer: str, idle: int, count: int) -> None:
        """Take over what others hold."""
        group = self.groups[index % len(self.groups)]
        held: list[str] = []

        async def call() -> list[tuple[str, int]]:
            found = await self.queues.claim(
                "q", group=group, consumer=consumer, min_idle_ms=idle, count=count
            )
            held.extend(delivery.handle for delivery in found.deliveries)
            return [(d.message.id, d.message.attempt) for d in found.deliveries]

        expected: list[tuple[str, int]] = []

        def expect() -> list[tuple[str, int]]:
            expected.extend(self.model.claim(group, consumer, idle, count))
            return expected

        self._agree(call(), expect)
        ids = [message_id for message_id, _ in expected]
        self.model.name_handles(group, zip(ids, held, strict=True))

    @rule(group=st.sampled_from(GROUPS), start=st.sampled_from(("first", "end", "after")))
    def add_group(self, *, group: str, start: str) -> None:
        """Add a group, which may exist."""
        if self.model.settings.mode == "fanout":
            after = next(iter(self.model.messages), "nothing") if start == "after" else None
            self._add_group(group, start, after)

    def _add_group(self, group: str, start: Any, after: str | None) -> None:
        place = Start(place=start, after=after)
        self._agree(
            self.queues.add_group("q", group, place),
            lambda: self.model.add_group(group, start, after),
        )

    @rule(group=st.sampled_from(GROUPS), sure=st.integers(0, 3))
    def remove_group(self, *, group: str, sure: int) -> None:
        """Remove a group now and then."""
        if self.model.settings.mode == "fanout" and sure == 0:
            self._agree(
                self.queues.remove_group("q", group), lambda: self.model.remove_group(group)
            )

    @rule(index=indexes, paused=st.booleans(), whole=st.booleans())
    def pause(self, *, index: int, paused: bool, whole: bool) -> None:
        """Pause or resume."""
        group = "" if whole or not self.model.groups else self.groups[index % len(self.groups)]
        change = self.queues.pause if paused else self.queues.resume
        self.world.run(change("q", group or None))
        # The one group of a work queue is the queue.
        about = "" if self.model.settings.mode == "work" else group
        (self.model.paused.add if paused else self.model.paused.discard)(about)

    @rule(sure=st.integers(0, 5))
    def purge(self, *, sure: int) -> None:
        """Purge now and then."""
        if sure == 0:
            assert self.world.run(self.queues.purge("q")) == self.model.purge()

    @rule(max_attempts=st.integers(1, 3), lock_ms=st.sampled_from((1_000, 3_000)))
    def redefine(self, *, max_attempts: int, lock_ms: int) -> None:
        """Change the budget and the lock time."""
        settings = replace(self.model.settings, max_attempts=max_attempts, lock_ms=lock_ms)
        assert self.world.run(self.queues.define("q", settings)) is False
        self.model.settings = settings

    @precondition(lambda self: self.model.settings.dead_letter)
    @rule(limit=st.integers(1, 3))
    def redrive(self, *, limit: int) -> None:
        """Send dead letters back."""
        self.model.letters.clear()
        letters = list(self.world.run(self.queues.peek("dead", count=limit)))
        assert self.world.run(self.queues.redrive("dead", limit=limit)) == len(letters)
        stored = self._stored_ids()
        for letter in letters:
            assert letter.dead_letter is not None
            taken = letter.id in self.model.messages
            renamed = [
                i for i in stored - set(self.model.messages) if i.startswith(f"{letter.id}~")
            ]
            new_id = min(renamed) if taken else letter.id
            self.model.redriven(new_id, letter.payload, letter.key, letter.dead_letter.group)
        self.dead -= len(letters)

    @precondition(lambda self: self.model.settings.mode == "work")
    @rule(limit=st.integers(1, 4))
    def move_away_and_back(self, *, limit: int) -> None:
        """Move messages to another queue, which has no time of its own, and back."""
        moved = self.world.run(self.queues.move("q", "other", limit))
        assert moved == self.model.moved_away_and_back(limit)
        assert self.world.run(self.queues.move("other", "q", limit)) == moved

    def _stored_ids(self) -> set[str]:
        tag = self.world.store.queue_tag("q")
        names = self.world.run(self.world.store.client.call(["HKEYS", f"{tag}:messages"]))
        return {name.decode() for name in names}

    @rule(ms=st.sampled_from((100, 300, 500, 1_000, 2_000, 5_000)), look=st.booleans())
    def pass_time(self, *, ms: int, look: bool) -> None:
        """Time passes; somebody looks, or nobody does."""
        self.model.now += ms
        self.world.run(self.world.clock.set(self.model.now))
        if look:
            self.world.run(self.world.clock.tick())
            self.model.fire()

    @invariant()
    def the_counts_agree(self) -> None:
        """Counts are the model's, and each pushed message is counted once."""
        if not hasattr(self, "model"):
            return
        whole, groups = self.model.stats()
        found = self.world.run(self.queues.stats("q"))
        for name, counts in found.groups.items():
            got = {field: getattr(counts, field) for field in counts.__dataclass_fields__}
            assert got == groups[name], name
            assert got.pop("pushed") == sum(got.values())
        assert found.groups.keys() == groups.keys()
        assert found.stored == whole["stored"]
        assert found.pushed == whole["pushed"]
        if found.mode == "fanout":
            assert found.pushed == found.stored + found.collected + found.expired + found.purged
            for name in ("collected", "expired", "purged"):
                assert getattr(found, name) == whole[name], name

    @invariant()
    def no_dead_letter_is_lost(self) -> None:
        """What was given up is in the dead-letter queue."""
        if getattr(self, "model", None) is None or not self.model.settings.dead_letter:
            return
        # Where a reply was lost, nobody was told to deliver: maintenance does it.
        self.world.run(self.queues.stats("q"))
        self.model.fire()
        assert self.world.run(QueueOutboxes(self.world.store).deliver("q")) == 0
        self.dead += len(self.model.letters)
        self.model.letters.clear()
        dead = self.world.run(self.queues.stats("dead"))
        assert dead.stored == self.dead
        assert dead.groups["default"].ready == self.dead

    @invariant()
    def the_order_is_the_models(self) -> None:
        """Peeking shows what is ready in the order of ranks."""
        if not hasattr(self, "model"):
            return
        for group in self.model.groups:
            found = self.world.run(self.queues.peek("q", group=group, count=100))
            assert [message.id for message in found] == self.model.in_order(group)
