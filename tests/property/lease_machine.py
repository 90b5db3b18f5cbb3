# ruff: noqa: D102 - the names of rules say it
"""Writer leases and manifests under pauses, lost replies, late and repeated requests, bad clocks.

What must hold is checked at every write of the backend (History) and after every step here. A
failing schedule is printed step by step, each with what the node did.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from holdfast.errors import HoldfastError, LeaseLost
from tests.property.lease_world import NAMES, RATES, Clocks, History, Node, Request, lost
from tests.property.running import thorough

Rule = TypeVar("Rule", bound=Callable[..., None])


#: Which of the nodes that can do it.
PICK = st.integers(0, len(RATES) - 1)
#: How many requests of an operation are answered before others act; 9 are all.
ANSWERED = st.sampled_from([9, 9, 9, 9, 9, 9, 0, 1, 2, 3, 4, 5])

SPANS = st.sampled_from([1_300, 1_100, 950, 800, 700, 300, 1])


def idle(node: Node) -> bool:
    return node.busy is None


def holding(node: Node) -> bool:
    return node.busy is None and node.grant is not None


def writing(node: Node) -> bool:
    return holding(node) and node.writer is not None


def asking(node: Node) -> bool:
    return node.request is not None and node.request.verb != "sleep"


def waiting(node: Node) -> bool:
    return node.request is not None


def some(fits: Callable[[Node], bool]) -> Callable[[Rule], Rule]:
    """Enable a rule while a node fits."""
    decorate: Callable[[Rule], Rule] = precondition(
        lambda machine: any(fits(node) for node in machine.nodes)
    )
    return decorate


class LeaseMachine(RuleBasedStateMachine):
    """Three nodes, one lease, one manifest."""

    def __init__(self) -> None:
        super().__init__()
        self.history = History()
        self.nodes = [
            Node(name=name, number=number, clocks=Clocks(rate=rate), history=self.history)
            for number, (name, rate) in enumerate(zip(NAMES, RATES, strict=True))
        ]
        self.strays: list[Request] = []
        self.items = (f"item{number}" for number in itertools.count(1))
        self.terms = itertools.count(2)

    def _pick(self, pick: int, fits: Callable[[Node], bool]) -> Node:
        found = [node for node in self.nodes if fits(node)]
        return found[pick % len(found)]

    # What nodes begin

    def _begin(self, node: Node, answered: int, what: str, *args: Any) -> None:
        """Begin an operation; as many of its requests as told are answered at once."""
        note(f"  {node.incarnation} begins to {what} {args or ''}")
        node.busy, node.doing = getattr(node, what)(*args), what
        self._go_on(node, None)
        self._answer(node, answered)

    @some(idle)
    @rule(pick=PICK, answered=ANSWERED)
    def acquire(self, pick: int, answered: int) -> None:
        self._begin(self._pick(pick, idle), answered, "acquire")

    @some(idle)
    @rule(pick=PICK, ms=SPANS, answered=ANSWERED)
    def outwait(self, pick: int, ms: int, answered: int) -> None:
        """Look, wait, try to take over."""
        node = self._pick(pick, idle)
        self._begin(node, 9, "acquire")
        self.time_passes(ms)
        if idle(node):
            self._begin(node, answered, "acquire")

    @some(idle)
    @rule(pick=PICK, answered=ANSWERED)
    def preempt(self, pick: int, answered: int) -> None:
        self._begin(self._pick(pick, idle), answered, "acquire", next(self.terms))

    @some(holding)
    @rule(pick=PICK, answered=ANSWERED)
    def refresh(self, pick: int, answered: int) -> None:
        self._begin(self._pick(pick, holding), answered, "refresh")

    @some(holding)
    @rule(pick=PICK, answered=ANSWERED)
    def release(self, pick: int, answered: int) -> None:
        self._begin(self._pick(pick, holding), answered, "release")

    @some(holding)
    @rule(pick=PICK, to=st.sampled_from(NAMES), answered=ANSWERED)
    def hand_over(self, pick: int, to: str, answered: int) -> None:
        self._begin(self._pick(pick, holding), answered, "hand_over", to)

    @some(holding)
    @rule(pick=PICK, answered=ANSWERED)
    def commit(self, pick: int, answered: int) -> None:
        self._begin(self._pick(pick, holding), answered, "commit", next(self.items))

    @some(holding)
    @rule(pick=PICK)
    def commit_wholly(self, pick: int) -> None:
        self._begin(self._pick(pick, holding), 20, "commit", next(self.items))

    @some(holding)
    @rule(pick=PICK, answered=st.integers(1, 5), effect=st.booleans())
    def commit_unclearly(self, pick: int, answered: int, *, effect: bool) -> None:
        """One request of a commit gets no answer, the others do."""
        node = self._pick(pick, holding)
        self._begin(node, answered, "commit", next(self.items))
        if asking(node):
            (self._lose_reply if effect else self._lose_request)(node)
        self._answer(node, 9)

    @some(writing)
    @rule(pick=PICK, answered=ANSWERED)
    def collect(self, pick: int, answered: int) -> None:
        self._begin(self._pick(pick, writing), answered, "collect")

    # What happens to their requests

    @some(waiting)
    @rule(pick=PICK, count=st.integers(1, 9))
    def answer(self, pick: int, count: int) -> None:
        """The next requests of a node have their effect and are answered."""
        self._answer(self._pick(pick, waiting), count)

    def _answer(self, node: Node, count: int) -> None:
        for _ in range(count):
            request = node.request
            if request is not None:
                self._effect(request)
                self._go_on(node, request.answer)

    @some(asking)
    @rule(pick=PICK)
    def effect_only(self, pick: int) -> None:
        """A request has its effect; its answer is on the way."""
        request = self._pick(pick, asking).request
        assert request is not None
        self._effect(request)

    @some(asking)
    @rule(pick=PICK, other=PICK, ms=SPANS)
    def pause_while_another_takes_over(self, pick: int, other: int, ms: int) -> None:
        """The answer to a request comes after another node has looked, waited and tried."""
        node = self._pick(pick, asking)
        assert node.request is not None
        self._effect(node.request)
        if any(map(idle, self.nodes)):
            self.outwait(other, ms, 9)
        self._answer(node, 1)

    @some(asking)
    @rule(pick=PICK)
    def lose_reply(self, pick: int) -> None:
        self._lose_reply(self._pick(pick, asking))

    def _lose_reply(self, node: Node) -> None:
        assert node.request is not None
        self._effect(node.request)
        self._go_on(node, lost(node.request))

    @some(asking)
    @rule(pick=PICK)
    def lose_request(self, pick: int) -> None:
        """The node gives up on a request, which may yet arrive."""
        self._lose_request(self._pick(pick, asking))

    def _lose_request(self, node: Node) -> None:
        assert node.request is not None
        self._stray(node.request)
        self._go_on(node, lost(node.request))

    @some(asking)
    @rule(pick=PICK)
    def send_twice(self, pick: int) -> None:
        request = self._pick(pick, asking).request
        assert request is not None
        self.strays.append(Request(request.verb, request.args))

    @precondition(lambda machine: machine.strays)
    @rule(number=st.integers(0, 5))
    def arrive_late(self, number: int) -> None:
        self._effect(self.strays.pop(number % len(self.strays)))

    @rule(pick=PICK)
    def crash(self, pick: int) -> None:
        node = self.nodes[pick]
        if asking(node) and node.request is not None:
            self._stray(node.request)
        note(f"  {node.incarnation} crashes")
        node.start_anew()

    def _stray(self, request: Request) -> None:
        if not request.done:
            self.strays.append(request)

    # Clocks

    @rule(ms=SPANS)
    def time_passes(self, ms: int) -> None:
        for node in self.nodes:
            if not node.clocks.frozen:
                node.clocks.running_ms += ms * node.clocks.rate

    @rule(pick=PICK, ms=st.integers(-3_600_000, 3_600_000))
    def step_wall_clock(self, pick: int, ms: int) -> None:
        self.nodes[pick].clocks.wall += ms

    @rule(pick=PICK)
    def freeze_or_thaw(self, pick: int) -> None:
        """A machine sleeps whose monotonic clock does not notice: time promises nothing then."""
        node = self.nodes[pick]
        node.clocks.frozen = not node.clocks.frozen
        node.excused = True

    # Driving

    def _effect(self, request: Request) -> None:
        if request.done:
            return
        if request.verb == "sleep":
            request.done = True
        else:
            self.history.apply(request)
            note(f"  {request}: {'refused' if _is_error(request.answer) else 'done'}")

    def _go_on(self, node: Node, answer: Any) -> None:
        assert node.busy is not None
        node.request = None
        try:
            if isinstance(answer, HoldfastError):
                node.request = node.busy.throw(answer)
            else:
                node.request = node.busy.send(answer)
        except StopIteration:
            node.busy = None
            note(f"  {node.incarnation} did {node.doing}")
        except HoldfastError as error:
            node.busy = None
            note(f"  {node.incarnation} could not {node.doing}: {error}")
            if isinstance(error, LeaseLost) and node.doing != "acquire":
                node.grant = node.writer = None

    # What must hold

    @invariant()
    def one_authority_at_a_time(self) -> None:
        """With clocks that run, at most one node of the newest term may write."""
        able = [
            node
            for node in self.nodes
            if node.has_authority
            and not node.excused
            and node.token.term == self.history.tokens[-1].term
        ]
        assert len(able) <= 1, [node.name for node in able]

    @invariant()
    def acknowledged_commits_are_there(self) -> None:
        if self.history.commits:
            items = {facts["item"] for facts in self.history.commits[-1].objects.values()}
            assert self.history.acknowledged <= items

    @invariant()
    def real_objects_exist(self) -> None:
        if self.history.commits:
            for name in self.history.commits[-1].objects:
                assert name in self.history.objects._objects


def _is_error(answer: object) -> bool:
    return isinstance(answer, HoldfastError)


def main() -> None:
    """Try random schedules; raises with the shortest one that breaks a promise."""
    run_state_machine_as_test(
        LeaseMachine,
        settings=thorough(800, large=20_000),
    )


if __name__ == "__main__":
    main()
