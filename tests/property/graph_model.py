"""A plain evaluator of graphs: what follows from the ends of members, computed to a fixed point."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

BAD = frozenset({"failed", "cancelled", "expired"})
ENDED = BAD | {"completed", "skipped"}


@dataclass
class Node:
    """A member."""

    #: Upstream and on, of each edge.
    ins: list[tuple[str, str]]
    policy: str = "all"
    k: int = 0
    losers: bool = False
    state: str = "waiting_children"
    released: bool = False
    spared: bool = False
    loser: bool = False
    began: bool = False
    #: How often the graph had been replayed when it was last opened, and when it was decided.
    opened: int = 0
    decided_in: int = -1

    @property
    def lax(self) -> bool:
        """Whether its join does without some."""
        return self.policy != "all"

    @property
    def need(self) -> int:
        """How many edges must be met."""
        return {"all": len(self.ins), "any": 1, "quorum": self.k}[self.policy]

    @property
    def decided(self) -> bool:
        """Whether it started or ended."""
        return self.released or self.state in ENDED


def meets(on: str, state: str) -> bool:
    """Whether an upstream that ended so meets an edge."""
    return on == "always" or (state == "completed" if on == "success" else state in BAD)


@dataclass
class GraphModel:
    """A graph whose consequences are drawn at once, or when asked for."""

    nodes: dict[str, Node] = field(default_factory=dict)
    eager: bool = True
    cancel: str | None = None
    mute: str | None = None
    replays: int = 0

    @property
    def state(self) -> str:
        """The state of the graph."""
        if self.cancel:
            return "cancelled"
        if any(node.state not in ENDED for node in self.nodes.values()):
            return "running"
        return "failed" if self.failures else "completed"

    @property
    def failures(self) -> int:
        """Failures that count."""
        return sum(node.state in BAD and not node.spared for node in self.nodes.values())

    @property
    def ended(self) -> bool:
        """Whether all members have ended."""
        return all(node.state in ENDED for node in self.nodes.values())

    def states(self) -> dict[str, str]:
        """The states of the members."""
        return {key: node.state for key, node in self.nodes.items()}

    def dependents(self, key: str) -> list[tuple[Node, str]]:
        """Those who wait for a member, and for what."""
        return [(n, on) for n in self.nodes.values() for source, on in n.ins if source == key]

    def end(self, key: str, state: str) -> None:
        """A member ends by itself or by an operator."""
        self.nodes[key].state = state
        self.settle()

    def stop(self, policy: str, mute: str | None) -> None:
        """The graph is cancelled."""
        self.cancel, self.mute = policy, mute
        for node in self.nodes.values():
            running = node.began and node.decided
            if mute and node.state not in ENDED and not (mute == "pending" and running):
                node.state = "cancelled"

    def expire(self) -> None:
        """The deadline of the graph passes."""
        self.mute = "all"
        for node in self.nodes.values():
            if node.state not in ENDED:
                node.state = "expired"

    def settle(self) -> None:
        """Draw all consequences, if they are drawn at once."""
        if self.eager:
            self.draw()

    def draw(self) -> None:
        """Draw all consequences."""
        if self.mute:
            return
        while self._decide() or self._note_ends() or self._drop_losers() or self._spare():
            pass

    def follow(self, states: dict[str, str], spared: set[str]) -> None:
        """Draw those consequences that a store has drawn so far, as the rules permit.

        It may lag behind, in any order; but nothing loses while an end is still to be heard.
        """
        if self.mute:
            return
        while self._decide({key for key, state in states.items() if state != "waiting_children"}):
            pass
        self._note_ends()
        if not any(self._decision(node) for node in self.nodes.values()):
            while self._drop_losers({key for key, state in states.items() if state == "cancelled"}):
                self._note_ends()
        while self._spare(spared):
            pass

    def _note_ends(self) -> bool:
        for node in self.nodes.values():
            if not node.decided:
                node.decided_in = -1
            elif node.decided_in < 0:
                node.decided_in = self.replays
        return False

    def _decision(self, node: Node) -> str | None:
        if node.state != "waiting_children":
            return None
        ends = [(on, self.nodes[source].state) for source, on in node.ins]
        met = sum(state in ENDED and meets(on, state) for on, state in ends)
        unmet = sum(state in ENDED and not meets(on, state) for on, state in ends)
        if met >= node.need:
            return "waiting"
        return "skipped" if unmet > len(node.ins) - node.need else None

    def _decide(self, among: Container[str] | None = None) -> bool:
        changed = False
        for key, node in self.nodes.items():
            decision = self._decision(node) if among is None or key in among else None
            if decision:
                node.state, node.released, changed = decision, decision == "waiting", True
        return changed

    def _drop_losers(self, among: Container[str] | None = None) -> bool:
        for key, node in self.nodes.items():
            if among is not None and key not in among:
                continue
            waiting_for = [dependent for dependent, _ in self.dependents(key)]
            if node.state in ENDED or not all(d.decided for d in waiting_for):
                continue
            # A join that was decided before a replay lets go of nothing that runs again.
            since = [d for d in waiting_for if d.decided_in >= node.opened]
            if any(d.losers or (d.loser and not d.released) for d in since):
                node.state, node.spared, node.loser = "cancelled", True, True
                return True
        return False

    def _spare(self, among: Container[str] | None = None) -> bool:
        for key, node in self.nodes.items():
            if among is not None and key not in among:
                continue
            if node.spared or node.state not in BAD | {"skipped"}:
                continue
            for dependent, on in self.dependents(key):
                content = dependent.spared and dependent.state in ENDED
                if dependent.released:
                    content = dependent.lax or (on != "success" and node.state in BAD)
                if content:
                    node.spared = True
                    return True
        return False

    def replay(self) -> None:
        """Reopen what failed, what never ran because of it, and what kept that from running."""
        again = {k for k, n in self.nodes.items() if n.state in BAD and not n.spared}
        grown = True
        while grown:
            before = len(again)
            for key, node in self.nodes.items():
                if node.released or node.state not in ENDED:
                    continue
                if any(source in again for source, _ in node.ins):
                    again.add(key)
                if key in again:
                    again |= {
                        source
                        for source, on in node.ins
                        if self.nodes[source].state != "completed"
                        and not meets(on, self.nodes[source].state)
                    }
            grown = len(again) > before
        self.cancel = self.mute = None
        self.replays += 1
        for key in again:
            node = self.nodes[key]
            node.opened, node.decided_in = self.replays, -1
            node.state, node.released = "waiting_children", False
            node.spared = node.loser = False
        self.settle()
