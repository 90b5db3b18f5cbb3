"""model.partitions: an id alone says where its execution lives."""

from __future__ import annotations

from collections import Counter

import pytest

from holdfast.model.ids import id_of_key, new_id
from holdfast.model.partitions import partition_of


def test_ids_with_a_common_root_share_a_partition() -> None:
    """What precedes the first separator decides."""
    places = {partition_of(f"order-7~{n}", 16) for n in range(100)}
    assert places == {partition_of("order-7", 16)} == {partition_of("order-7~a~b", 16)}


def test_ids_with_other_roots_do_not_all_share_one() -> None:
    """The part after the separator alone does not decide."""
    assert len({partition_of(f"order-{n}~x", 16) for n in range(100)}) == 16


def test_one_partition_holds_everything() -> None:
    """A single server needs no hashing."""
    assert partition_of("anything", 1) == 0


@pytest.mark.parametrize("make", [new_id, lambda: id_of_key("t", new_id())])
def test_minted_ids_spread_evenly(make: object) -> None:
    """No partition of 16 gets more than twice its share."""
    assert callable(make)
    places = Counter(partition_of(make(), 16) for _ in range(8_000))
    assert set(places) == set(range(16))
    assert max(places.values()) < 1_000
    assert min(places.values()) > 250


def test_the_place_of_an_id_never_changes() -> None:
    """Pinned, because stored executions are found by it."""
    assert [partition_of(i, 16) for i in ("a", "b", "order-7", "käse")] == [7, 4, 4, 14]
