"""Splits, rollbacks, lifecycles and drains: random calls against a store and the documented rules.

Replies are lost, keys are used again for the same and for other calls, generations are stale, and
routers that have not heard of a drain go on starting conversations.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from holdfast.engine.deployments import Deployments
from holdfast.model.deployments import DeploymentRef, NewDeployment, Split, SplitEntry
from holdfast.model.revisions import Gate, Lifecycle, capability
from tests.property.comparing import ComparingMachine
from tests.property.deployment_model import DeploymentModel, Weights
from tests.property.world import World
from tests.support import sessions
from tests.support.invariants import violations

#: The first three are ready at the beginning.
REVISIONS = ("a", "b", "c", "d")
REF = DeploymentRef(env="local", id="talk", tenant="default")

PASSED = [Gate(name="loads", passed=True)]

revisions = st.sampled_from(REVISIONS)
users = st.sampled_from(("ann", "bob", "cat"))
keys = st.sampled_from([f"k{number}" for number in range(40)])
weights = st.sampled_from(
    [
        (("a", 10_000),),
        (("b", 10_000),),
        (("a", 5_000), ("b", 5_000)),
        (("a", 9_000), ("b", 1_000)),
        (("a", 0), ("b", 10_000)),
        (("b", 3_000), ("c", 7_000)),
        (("a", 1), ("b", 1), ("c", 9_998)),
        (("c", 5_000), ("d", 5_000)),
    ]
)
#: Mostly the way forward, so that revisions are often ready.
targets = st.sampled_from([*Lifecycle, *4 * [Lifecycle.WARMING], *4 * [Lifecycle.READY]])


class DeploymentMachine(ComparingMachine):
    """One deployment with four revisions, and conversations of three users."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.calls = self.store.deployments
        self.engine = Deployments(self.store)
        self.model = DeploymentModel()
        new = NewDeployment(env=REF.env, id=REF.id, tenant="default", app="bot")
        world.run(self.calls.create(new))
        for revision in REVISIONS[:3]:
            self.stage(revision=revision)
            self.make_ready(revision=revision)

    @rule(revision=revisions)
    def stage(self, *, revision: str) -> None:
        """Stage a revision; when the reply was lost, the repetition says that it exists."""
        self.model.stage(revision)
        self.world.run(self.calls.stage(REF, revision, (), b"{}", packs_of=None))

    @rule(revision=revisions)
    def make_ready(self, *, revision: str) -> None:
        """Take the short way, as far as it is legal; the gates pass."""
        self.move(revision=revision, to=Lifecycle.WARMING, seen=None)
        if self.model.states.get(revision) == "warming":
            version = self.model.versions[revision]
            self.world.run(self.engine.judge(REF, revision, PASSED, seen=version))
            self.model.judge(revision)

    @rule(revision=revisions)
    def drain(self, *, revision: str) -> None:
        """Drain a revision, or count again what needs it."""

        async def call() -> tuple[str, int, int]:
            found = await self.engine.drain(REF, revision)
            return found.lifecycle.value, found.version, found.running + found.waiting

        self._agree(call(), lambda: self.model.drain(revision))

    @rule(user=users, revision=revisions)
    def talk(self, *, user: str, revision: str) -> None:
        """Deliver a message of a user; a router has chosen any revision."""

        async def call() -> None:
            await sessions.deliver(self.store, user=user, requires=(capability(revision),))

        self._agree(call(), lambda: self.model.talk(user, revision))

    @rule(user=users)
    def end(self, *, user: str) -> None:
        """End a conversation, and drop what it has buffered."""
        if self.model.talks.pop(user, None) is not None:
            self.world.run(self.store.sessions.finish(sessions.key_of(user).id, ""))

    @rule(
        revision=revisions,
        to=targets,
        seen=st.one_of(st.none(), st.integers(-2, 1)),
    )
    def move(self, *, revision: str, to: Lifecycle, seen: int | None) -> None:
        """Move a revision, perhaps with a version that was seen at some time."""
        version = None if seen is None else max(1, self.model.versions.get(revision, 1) + seen)

        async def call() -> tuple[str, int]:
            found = await self.calls.move(REF, revision, to, seen=version)
            return found.lifecycle.value, found.version

        self._agree(call(), lambda: self.model.move(revision, to.value, version))

    @rule(wanted=weights, behind=st.sampled_from((0, 0, 0, 1, -1)), key=keys)
    def set_split(self, *, wanted: Weights, behind: int, key: str) -> None:
        """Set the split, sometimes of another generation than the one in force."""
        expected = max(0, self.model.generation - behind)
        entries = [SplitEntry(revision=name, weight_bps=weight) for name, weight in wanted]

        async def call() -> int:
            split = await self.calls.set_split(REF, entries, expected=expected, key=key)
            self._check(split)
            return split.generation

        self._agree(call(), lambda: self.model.set_split(wanted, expected, key))

    @rule(back=st.one_of(st.none(), st.integers(-1, 12)), key=keys)
    def rollback(self, *, back: int | None, key: str) -> None:
        """Go back by some generations, or to the one before."""
        to = None if back is None else max(1, self.model.generation - back)

        async def call() -> int:
            split = await self.calls.rollback(REF, to, key)
            self._check(split)
            return split.generation

        self._agree(call(), lambda: self.model.rollback(to, key))

    def _check(self, split: Split) -> None:
        """Check that the answer is the split of its generation, as it was then."""
        if split.generation < len(self.model.splits):
            expected = self.model.splits[split.generation]
            assert tuple((one.revision, one.weight_bps) for one in split.entries) == expected

    @invariant()
    def store_and_model_agree(self) -> None:
        """On every revision, on the split and its history, and on what pins are compared with."""
        found = self.world.run(self.calls.get(REF))
        model = self.model
        assert {one.id: one.lifecycle.value for one in found.revisions} == model.states
        assert {one.id: one.version for one in found.revisions} == model.versions
        splits = [found.split, *found.past] if model.generation else []
        kept = range(model.generation, max(0, model.generation - 11), -1)
        assert [one.generation for one in splits] == list(kept)
        for split in splits:
            assert (
                tuple((one.revision, one.weight_bps) for one in split.entries)
                == (model.splits[split.generation])
            )
            for entry in split.entries:
                since = model.since(entry.revision, split.generation)
                assert entry.since == (since if entry.weight_bps else 0)

    @invariant()
    def needs_are_counted(self) -> None:
        """As many as there are, and the sets agree with the records."""
        found = self.world.run(self.store.needs.count("default", REVISIONS))
        counts = {revision: needs.running + needs.waiting for revision, needs in found.items()}
        assert counts == {revision: self.model.needs(revision) for revision in REVISIONS}
        assert violations(self.world.dump()) == []

    @invariant()
    def only_ready_revisions_are_routable(self) -> None:
        """At every moment."""
        for revision in self.model.routable(self.model.generation):
            assert self.model.states[revision] == "ready"
