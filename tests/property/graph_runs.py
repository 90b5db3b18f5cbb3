"""Random graphs and random ends, on a store and in the plain evaluator at once.

A library with a tiny allowance makes nearly all of the work go by timer, as it does in large
graphs.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.engine.graphs import Graphs
from holdfast.engine.payloads import Payloads
from holdfast.errors import AlreadyTerminal, GraphFinished, MemberStarted, NothingToReplay
from holdfast.model.calls import Completion
from holdfast.model.executions import Claim, Failure, NewExecution
from holdfast.model.graphs import Edge, Join, member_id
from holdfast.store import graphs as store_graphs
from holdfast.store.valkey import library
from tests.property.graph_model import ENDED, GraphModel, Node
from tests.property.running import thorough
from tests.property.world import World, open_world
from tests.support.invariants import violations
from tests.support.lifecycle import claim_ready

_ALLOWANCE = "work.AT_ONCE, work.BY_TIMER = 100, 400"
#: How much a call and a timer may do: mostly little, so that work waits when the next end comes.
_ALLOWANCES = (1, 2), (2, 3), (3, 4), (4, 6), (6, 8), (100, 400)
_POLICIES = {"cancel_all": "all", "cancel_pending": "pending", "leave": None}
_VERBS = (
    *("complete",) * 6,
    *("complete_together",) * 3,
    *("fail",) * 3,
    *("cancel", "stop", "expire", "grow", "link", "lose", "replay"),
)

#: The edges that lead to a member, as upstream and on, and its join.
_Planned = tuple[list[tuple[str, str]], Join]
_M = ("m0", "success")
#: Graphs in which losers once overtook ends.
_KNOWN: tuple[tuple[_Planned, ...], ...] = (
    (
        ([], Join()),
        *(([(f"m{n}", "success")], Join()) for n in range(3)),
        ([_M, ("m3", "success")], Join.quorum(2, losers="cancel")),
    ),
    (
        ([], Join()),
        ([], Join()),
        ([("m0", "failure")], Join()),
        ([("m2", "always"), ("m1", "success")], Join.any()),
        ([("m3", "success"), _M], Join.any(losers="cancel")),
    ),
    (
        *(([], Join()) for _ in range(3)),
        *(([_M], Join()) for _ in range(4)),
        ([("m6", "success")], Join()),
        ([(f"m{n}", "success") for n in (2, 1, 7)], Join.any(losers="cancel")),
    ),
)

_Draw = Callable[[Any], Any]


def with_allowance(world: World, at_once: int, by_timer: int) -> None:
    """Have the store's library do so much at a time."""
    loaded = library.load(fake_clock=True)
    assert _ALLOWANCE in loaded.code
    small = loaded.code.replace(_ALLOWANCE, f"work.AT_ONCE, work.BY_TIMER = {at_once}, {by_timer}")
    world.store.loader.library = dataclasses.replace(loaded, code=small)


class Run:
    """One graph through its life."""

    def __init__(self, world: World, draw: _Draw, *, exact: bool) -> None:
        self.world = world
        self.draw = draw
        #: The model draws the consequences that the store has drawn, so they can be compared.
        self.exact = exact
        self.graphs = Graphs(world.store, Payloads(world.store))
        self.model = GraphModel(eager=not exact)
        self.held: dict[str, Claim] = {}
        self.id = ""
        self.shape = "free"

    def join(self, count: int) -> tuple[Join, Node]:
        """Draw a join for so many upstreams."""
        policy = self.draw(st.sampled_from(("all", "all", "any", "quorum", "quorum")))
        losers = self.draw(st.sampled_from(("cancel", "cancel", "keep")))
        if count == 0 or policy == "all":
            losers = losers if count else "keep"
            return Join(losers=losers), Node([], losers=losers == "cancel")
        k = self.draw(st.integers(1, count)) if policy == "quorum" else None
        join = Join(policy=policy, k=k, losers=losers)
        return join, Node([], policy=policy, k=k or 0, losers=losers == "cancel")

    def upstreams(self, keys: list[str]) -> list[tuple[str, str]]:
        """Draw edges from some of the members."""
        most = 1 if self.shape == "chain" else 4
        some = st.lists(st.sampled_from(keys), max_size=most, unique=True)
        chosen = self.draw(some) if keys else []
        if len(keys) > 2 and keys[0] not in chosen and self.shape == "hub":
            chosen.append(keys[0])
        if keys and keys[-1] not in chosen and self.shape == "chain":
            chosen.append(keys[-1])
        ons = st.sampled_from(("success", "success", "failure", "always"))
        return [(key, self.draw(ons)) for key in chosen]

    def member(
        self, key: str, keys: list[str], planned: _Planned | None = None
    ) -> tuple[list[Edge], Join]:
        """Draw a member, unless it is planned; the model gets it at once."""
        if planned is None:
            ins = self.upstreams(keys)
            join, node = self.join(len(ins))
        else:
            ins, join = planned
            node = Node([], policy=join.policy, k=join.k or 0, losers=join.losers == "cancel")
        node.ins = list(ins)
        self.model.nodes[key] = node
        edges = [
            Edge(source=source, target=key, on=on, input=self.draw(st.sampled_from((None, "in[]"))))
            for source, on in ins
        ]
        return edges, join

    def submit(self) -> None:
        """Submit a random graph; in some, nearly all wait for the first member, or in a row."""
        self.shape = self.draw(st.sampled_from(("free", "hub", "chain")))
        known = self.draw(st.sampled_from((None, None, None, *_KNOWN)))
        count = len(known) if known else self.draw(st.integers(1, 9) | st.integers(5, 12))
        keys = [f"m{n}" for n in range(count)]
        edges: list[Edge] = []
        joins: dict[str, Join] = {}
        for n, key in enumerate(keys):
            found, joins[key] = self.member(key, keys[:n], known[n] if known else None)
            edges += found
        deadline = self.draw(st.sampled_from((None, None, 3_600_000)))
        members = {key: NewExecution(kind="work") for key in keys}
        work = self.graphs.submit(
            members, edges, joins, deadline_ms=deadline, idempotency_key="the graph"
        )
        answer = self.world.run(work)
        self.id = answer.id
        self.model.settle()
        again = self.graphs.submit(
            members, edges, joins, deadline_ms=deadline, idempotency_key="the graph"
        )
        assert self.world.run(again).duplicate
        self.deadline = deadline

    def go(self) -> None:
        """Do some random operations, then let everything end, replay it, and end it again."""
        self.submit()
        self.settle()
        for verb in self.draw(st.lists(st.sampled_from(_VERBS), max_size=14)):
            self.world.caller.lossy = self.draw(st.booleans())
            getattr(self, verb)()
            self.world.caller.lossy = False
            self.settle()
        self.finish(fail=False)
        self.replay()
        self.finish(fail=False)

    def settle(self) -> None:
        """Compare; let timers fire sometimes, and compare again."""
        self.compare()
        if self.draw(st.sampled_from((True, False, False))):
            self.tick()

    def tick(self) -> None:
        """Let all timers fire, and compare."""
        self.world.run(self.world.clock.tick())
        self.compare()

    def compare(self) -> None:
        """Compare store and model, which goes as far as the store has gone."""
        dump = self.world.dump()
        problems = violations(dump, self.world.clock.now_ms)
        assert not problems, problems
        if not self.exact or self.is_reopening():
            return
        _, members = self.world.run(self.world.store.graphs.members(self.id))
        found = {key: str(member.state) for key, member in members.items()}
        if any(f"}}:{family}:{self.id}" in key for key in dump for family in ("gw", "gk")):
            self.model.follow(found, {key for key, member in members.items() if member.spared})
        else:
            self.model.draw()
            self.compare_graph()
        expected = self.model.states()
        for key in self.held:
            expected[key] = "active" if expected[key] == "waiting" else expected[key]
        assert found == expected

    def compare_graph(self) -> None:
        """Compare what is known of the graph as a whole, when nothing is left to do."""
        graph, _ = self.world.run(self.world.store.graphs.describe(self.id))
        ended = graph.completed_at is not None
        assert (graph.state, ended) == (self.model.state, self.model.ended)
        assert self.model.mute or graph.failures == self.model.failures

    def is_reopening(self) -> bool:
        """Whether a replay is under way: some members have not been reopened yet."""
        key = f"{self.world.tag}:graph:{self.id}"
        return bool(self.world.run(self.world.store.client.call(["HEXISTS", key, "reopening"])))

    # Operations

    def hold(self) -> tuple[str, Claim] | None:
        """Return a member that runs; claims what is ready."""
        store = self.world.store
        claims = self.world.run(
            claim_ready(
                store,
                self.world.tag,
                request=f"r{len(self.world.caller.calls)}",
                worker="w",
                lanes=["default"],
                capabilities=[],
                limit=2,
                lease_ms=86_400_000,
            )
        )
        for claim in claims:
            key = claim.id[len(self.id) + 1 :]
            self.held[key] = claim
            self.model.nodes[key].began = True
        _, members = self.world.run(store.graphs.members(self.id))
        self.held = {k: c for k, c in self.held.items() if members[k].state == "active"}
        if not self.held:
            return None
        key = self.draw(st.sampled_from(sorted(self.held)))
        return key, self.held.pop(key)

    def complete(self) -> None:
        """A member succeeds."""
        if found := self.hold():
            key, claim = found
            self.world.run(self.world.store.executions.complete(claim.id, claim.lease, b"1"))
            self.model.end(key, "completed")

    def complete_together(self) -> None:
        """Members succeed in one call; the end of one may cancel another."""
        if found := self.hold():
            chosen = [found, *((key, self.held.pop(key)) for key in sorted(self.held)[:3])]
            items = [Completion(claim.id, claim.lease, b"1", None) for _, claim in chosen]
            answers = self.world.run(self.world.store.executions.complete_many(items))
            answered = zip(chosen, answers, strict=True)
            self.end_in_turn([key for (key, _), answer in answered if answer is None])

    def end_in_turn(self, keys: list[str]) -> None:
        """Members have succeeded in one call, one after the other.

        Between two of them the store may have gone on, or parked its work: the model does what
        explains the states that there are now.
        """
        if not self.exact or self.is_reopening():
            for key in keys:
                self.model.end(key, "completed")
            return
        _, members = self.world.run(self.world.store.graphs.members(self.id))
        states = {key: str(member.state) for key, member in members.items()}
        spared = {key for key, member in members.items() if member.spared}
        started = {key for key, member in members.items() if self.was_released(member.id)}

        def explanation(goes_on: Iterable[bool]) -> tuple[int, GraphModel]:
            """Return how well a model agrees that goes on after these ends, and the model."""
            model = copy.deepcopy(self.model)
            for key, also in zip(keys, goes_on, strict=True):
                model.end(key, "completed")
                if also:
                    model.follow(states, spared)
            later = copy.deepcopy(model)
            later.follow(states, spared)
            agreeing = sum(
                node.state == states[key].replace("active", "waiting")
                and (node.state != "cancelled" or node.released == (key in started))
                for key, node in later.nodes.items()
            )
            return agreeing, model

        ways = itertools.product((False, True), repeat=len(keys))
        _, self.model = max(map(explanation, ways), key=itemgetter(0))

    def was_released(self, execution_id: str) -> bool:
        """Whether its upstreams ever allowed a member to start."""
        rec = self.world.dump()[f"{self.world.tag}:x:{execution_id}"]
        return int(rec.get(b"met", 0)) >= int(rec.get(b"need", 0))

    def fail(self) -> None:
        """A member fails for good."""
        if found := self.hold():
            key, claim = found
            failure = Failure(type="e", message="m")
            self.world.run(self.world.store.executions.fail(claim.id, claim.lease, failure))
            self.model.end(key, "failed")

    def lose(self) -> None:
        """A lease is revoked: the member is ready again."""
        if found := self.hold():
            self.world.run(self.world.store.leases.revoke(found[1].id, ""))

    def cancel(self) -> None:
        """Somebody cancels a member."""
        key = self.draw(st.sampled_from(sorted(self.model.nodes)))
        try:
            self.world.run(self.world.store.executions.cancel(member_id(self.id, key), ""))
        except AlreadyTerminal:
            return
        self.held.pop(key, None)
        self.model.end(key, "cancelled")

    def stop(self) -> None:
        """Somebody cancels the graph."""
        policy = self.draw(st.sampled_from(sorted(_POLICIES)))
        if self.is_reopening():
            self.tick()
        try:
            self.world.run(self.graphs.cancel(self.id, policy=policy))
        except GraphFinished:
            return
        self.model.stop(policy, _POLICIES[policy])
        self.sweep(_POLICIES[policy])

    def expire(self) -> None:
        """The deadline of the graph passes."""
        self.tick()
        graph, _ = self.world.run(self.world.store.graphs.describe(self.id))
        if graph.deadline_at and graph.completed_at is None and self.model.mute != "all":
            self.world.run(self.world.clock.advance(3_600_000))
            self.model.expire()
            self.sweep("all")

    def sweep(self, mute: str | None) -> None:
        """Let timers end members, or a member that has not been reached yet may end otherwise."""
        if self.exact and mute:
            self.tick()

    def grow(self) -> None:
        """A member is added."""
        keys = sorted(self.model.nodes)
        key = f"m{len(keys)}"
        edges, join = self.member(key, keys)
        node = self.model.nodes.pop(key)
        try:
            work = self.graphs.grow(
                self.id,
                members={key: NewExecution(kind="work")},
                edges=edges,
                joins={key: join} if join.is_lax or edges else {},
            )
            self.world.run(work)
        except GraphFinished:
            return
        self.model.nodes[key] = node
        self.model.settle()

    def link(self) -> None:
        """Add an edge between two members, from an older to a younger, so never a cycle."""
        keys = sorted(self.model.nodes, key=lambda key: int(key[1:]))
        target = self.draw(st.sampled_from(keys))
        older = keys[: keys.index(target)]
        node = self.model.nodes[target]
        older = [key for key in older if key not in {source for source, _ in node.ins}]
        if not older:
            return
        source = self.draw(st.sampled_from(older))
        on = self.draw(st.sampled_from(("success", "failure", "always")))
        edge = Edge(source=source, target=target, on=on)
        try:
            self.world.run(self.graphs.grow(self.id, edges=[edge]))
        except (GraphFinished, MemberStarted):
            return
        node.ins.append((source, on))
        node.state, node.released = "waiting_children", False
        self.model.settle()

    def replay(self) -> None:
        """The graph is replayed, if it has ended."""
        graph, _ = self.world.run(self.world.store.graphs.describe(self.id))
        if graph.completed_at is None:
            return
        try:
            self.world.run(self.graphs.replay(self.id))
        except NothingToReplay:
            assert not self.exact or not self.model.failures or self.model.mute
            return
        self.held.clear()
        self.model.replay()
        self.settle()

    def finish(self, *, fail: bool) -> None:
        """Complete whatever becomes ready: the graph must end."""
        for _ in range(100):
            self.tick()
            graph, _ = self.world.run(self.world.store.graphs.describe(self.id))
            if graph.completed_at is not None:
                break
            if fail:
                self.fail()
            else:
                self.complete()
            self.settle()
        else:
            message = "the graph does not end"
            raise AssertionError(message)
        assert not self.exact or all(s in ENDED for s in self.model.states().values())


def main() -> None:
    """Try random graphs; raises with the shortest failing example."""
    store_graphs.MEMBERS_IN_CALL = 3
    with open_world() as world:

        @thorough(60, large=1000)
        @given(st.data(), st.sampled_from(_ALLOWANCES), st.sampled_from((True, True, True, False)))
        def run(data: st.DataObject, allowance: tuple[int, int], exact: bool) -> None:
            with_allowance(world, *allowance)
            world.run(world.reset())
            world.run(world.store.client.call(["FUNCTION", "FLUSH"]))
            world.run(world.store.loader.load())
            Run(world, data.draw, exact=exact).go()

        run()


if __name__ == "__main__":
    main()
