"""Deployments as docs/deployments.md describes them: one deployment, without a store."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.property.comparing import Refused

#: From the table of the page.
EDGES = {
    "staged": {"warming", "archived"},
    "warming": {"ready", "failed", "archived"},
    "ready": {"draining"},
    "draining": {"inactive"},
    "inactive": {"warming", "archived"},
    "failed": {"warming", "archived"},
    "archived": set(),
}
MOST_PAST, MOST_KEYS = 10, 20

#: Revision and weight of each entry, sorted.
Weights = tuple[tuple[str, int], ...]


@dataclass
class DeploymentModel:
    """Revisions with their states, and every split that there ever was."""

    states: dict[str, str] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    #: By generation; the first routes nowhere.
    splits: list[Weights] = field(default_factory=lambda: [()])
    #: What keys did, the newest last: key, what was asked, generation.
    keys: list[tuple[str, object, int]] = field(default_factory=list)
    #: Revisions that start nothing more, whatever a router believes.
    closed: set[str] = field(default_factory=set)
    #: The revision of each user's conversation that is under way.
    talks: dict[str, str] = field(default_factory=dict)

    @property
    def generation(self) -> int:
        """The number of the split in force."""
        return len(self.splits) - 1

    def routable(self, generation: int) -> set[str]:
        """Return the revisions that a split routes to."""
        return {revision for revision, weight in self.splits[generation] if weight}

    def since(self, revision: str, generation: int) -> int:
        """Return the generation since which a revision has always been routable; else 0."""
        first = 0
        for earlier in range(generation, 0, -1):
            if revision not in self.routable(earlier):
                break
            first = earlier
        return first

    def stage(self, revision: str) -> bool:
        """Add a revision; returns whether it is new."""
        if revision in self.states:
            return False
        self.states[revision], self.versions[revision] = "staged", 1
        return True

    def move(self, revision: str, target: str, seen: int | None) -> tuple[str, int]:
        """Move a revision; returns where it is."""
        if revision not in self.states:
            raise Refused("revision_not_found")
        state, version = self.states[revision], self.versions[revision]
        if seen is not None and seen != version:
            if (state, version) != (target, seen + 1):
                raise Refused("stale_lifecycle")
        elif state != target:
            if target not in EDGES[state]:
                raise Refused("illegal_transition")
            if target == "draining" and revision in self.routable(self.generation):
                raise Refused("revision_routable")
            self.states[revision], self.versions[revision] = target, version + 1
        return self.states[revision], self.versions[revision]

    def drain(self, revision: str) -> tuple[str, int, int]:
        """Drain a revision; returns where it is, and how many need it."""
        if self.states.get(revision) != "inactive":
            self.move(revision, "draining", None)
        if self.states[revision] == "draining":
            self.closed.add(revision)
            if not self.needs(revision):
                self.move(revision, "inactive", None)
        return self.states[revision], self.versions[revision], self.needs(revision)

    def judge(self, revision: str) -> None:
        """Pass the gates of a revision that warms up: it starts conversations again."""
        self.move(revision, "ready", self.versions[revision])
        self.closed.discard(revision)

    def needs(self, revision: str) -> int:
        """Return how many conversations are under way on a revision."""
        return sum(needed == revision for needed in self.talks.values())

    def talk(self, user: str, revision: str) -> None:
        """Receive a message: it reaches the conversation that is under way, or starts one."""
        if user in self.talks:
            return
        if revision in self.closed:
            raise Refused("revision_draining")
        self.talks[user] = revision

    def set_split(self, weights: Weights, expected: int, key: str) -> int:
        """Set the split; returns its generation."""
        if (known := self._known(key, weights)) is not None:
            return known
        if expected != self.generation:
            raise Refused("stale_generation")
        return self._apply(weights, weights, key)

    def rollback(self, to: int | None, key: str) -> int:
        """Go back; returns the new generation."""
        if (known := self._known(key, ("back", to))) is not None:
            return known
        target = self.generation - 1 if to is None else to
        is_kept = max(1, self.generation - MOST_PAST) <= target <= self.generation
        if not is_kept:
            raise Refused("generation_not_found")
        return self._apply(self.splits[target], ("back", to), key)

    def _known(self, key: str, asked: object) -> int | None:
        for name, before, generation in self.keys[-MOST_KEYS:]:
            if name == key:
                if before != asked:
                    raise Refused("idempotency_conflict")
                return generation
        return None

    def _apply(self, weights: Weights, asked: object, key: str) -> int:
        if weights != self.splits[-1]:
            for revision, weight in weights:
                if revision not in self.states:
                    raise Refused("revision_not_found")
                if weight and self.states[revision] != "ready":
                    raise Refused("revision_not_ready")
            self.splits.append(weights)
        self.keys.append((key, asked, self.generation))
        return self.generation
