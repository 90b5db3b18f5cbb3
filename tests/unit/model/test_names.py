"""Stored names and ids, and what their tenants see of them."""

from __future__ import annotations

import itertools

import pytest

from holdfast.model import checks, names
from holdfast.model.ids import id_of_key, new_id
from holdfast.store.graphs import graph_id_of_key

MINTED = (new_id(), f"g{new_id()}", id_of_key("t", "k"), graph_id_of_key("t", "k"))
TENANTS = ("default", "acme", "bolt", "a.b:c@d-e_f")
NAMES = ("packers", "default", "acme", "a.b:c@d-e_f", "x" * 128)
IDS = (*NAMES, "a/b", "a~b", "~w1", "acme/b~c", "k" + "0" * 23, *(one[1:-1] for one in MINTED))


def test_a_stored_name_is_that_of_one_thing() -> None:
    """Two tenants, or two names, are never stored alike."""
    things = list(itertools.product(TENANTS, NAMES))
    stored = [names.stored(*thing) for thing in things]
    assert len(set(stored)) == len(things)
    assert [names.split(one) for one in stored] == things
    ids = [names.stored_id(*thing) for thing in itertools.product(TENANTS, IDS)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("tenant", TENANTS)
def test_a_tenant_can_use_the_name_that_it_sees(tenant: str) -> None:
    """Its own is short, that of another is in full."""
    for owner, name in itertools.product(TENANTS, NAMES):
        stored = names.stored(owner, name)
        seen = names.seen(stored, tenant)
        assert (seen == name) == (owner == tenant)
        assert names.stored(tenant, seen) == stored
        assert checks.limit("name", seen) == seen


@pytest.mark.parametrize("tenant", TENANTS)
def test_a_tenant_can_use_the_id_that_it_sees(tenant: str) -> None:
    """Also those of executions of schedules, whatever the schedule is called."""
    for own in (*IDS, *MINTED):
        for stored in (names.stored_id(tenant, own), names.stored_schedule(tenant, own)):
            assert names.stored_id(tenant, names.seen_id(stored, tenant)) == stored
            assert checks.execution_id("id", stored) == stored
        assert names.seen_id(names.stored_id(tenant, own), tenant) == own


@pytest.mark.parametrize("minted", MINTED, ids=["id", "graph", "key", "graph of a key"])
def test_minted_ids_belong_to_no_tenant(minted: str) -> None:
    """They are unique without one, and so are the ids of what belongs to them."""
    for own in (minted, f"{minted}~w1", f"{minted}~a~b"):
        assert names.is_minted(own)
        assert names.stored_id("acme", own) == own
        assert names.seen_id(own, "acme") == own
    for own in (minted[:-1], f"{minted}0", f"x{minted}", minted.upper()):
        assert names.stored_id("acme", own) == f"acme={own}"
