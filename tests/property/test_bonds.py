"""Families of executions end at random; a small model says who ends with whom."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field

import pytest

from holdfast.errors import ParentEnded
from holdfast.model.executions import Failure, Lease, NewExecution, Submitted
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_in, state_of

#: Set it to thousands for a long run.
SEEDS = int(os.environ.get("HOLDFAST_BOND_SEEDS", "2"))
OPERATIONS = 60
POLICIES = ("keep", "cancel", "fail_parent")
BAD = ("failed", "cancelled")


@dataclass
class Family:
    """Who lives, and by which bond."""

    states: dict[str, str] = field(default_factory=dict)
    policies: dict[str, str] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)

    def parent(self, member: str) -> str | None:
        """Return the parent of a member."""
        return member.rpartition("~")[0] or None

    def end(self, member: str, state: str) -> None:
        """End a member, and all that ends with it."""
        if self.states[member] != "alive":
            return
        self.states[member] = state
        above = self.parent(member)
        if above is not None and self.policies[member] == "fail_parent" and state in BAD:
            self.end(above, "failed")
        for other in list(self.states):
            if self.parent(other) == member and self.policies[other] != "keep":
                self.end(other, "cancelled")


async def end(store: Store, family: Family, member: str, how: str) -> None:
    """End an execution in one way."""
    lease = family.leases[member]
    if how == "cancelled":
        await store.executions.cancel(member, "")
    elif how == "failed":
        await store.executions.fail(member, lease, Failure(type="e", message="m"))
    else:
        await store.executions.complete(member, lease, b"1")


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_families_end_as_the_model_says(
    store: Store, clock: Clock, dump: Dump, seed: int
) -> None:
    """Whatever is created and ended in which order, and the data stay right throughout."""
    choose = random.Random(seed)
    family = Family()
    for number in range(OPERATIONS):
        alive = [member for member, state in family.states.items() if state == "alive"]
        if alive and choose.random() < 0.3:
            member, how = choose.choice(alive), choose.choice(("completed", *BAD))
            await end(store, family, member, how)
            family.end(member, how)
        else:
            above = choose.choice(list(family.states)) if family.states else None
            member = "p" if above is None else f"{above}~0.{number}"
            policy = choose.choice(POLICIES)
            item = NewExecution(kind="work", id=member, on_parent_end=policy)
            (answer,) = await store.executions.create([item])
            late = above is not None and family.states[above] != "alive" and policy != "keep"
            assert isinstance(answer, ParentEnded if late else Submitted), answer
            if late:
                continue
            family.states[member], family.policies[member] = "alive", policy
            (claim,) = await claim_in(store, store.tag_of(member), lease_ms=86_400_000)
            family.leases[claim.id] = claim.lease
        if number % 5 == 0:
            assert violations(dump()) == []
        await clock.tick()
    found = {member: str(await state_of(store, member)) for member in family.states}
    expected = {m: "active" if s == "alive" else s for m, s in family.states.items()}
    assert found == expected
    assert violations(dump()) == []
