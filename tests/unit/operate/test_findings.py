"""The doctor's judgement of facts."""

from __future__ import annotations

import pytest

from holdfast.model.findings import Level
from holdfast.operate import findings
from holdfast.operate.findings import Facts
from holdfast.store.valkey import urls
from holdfast.store.valkey.acks import Ack

OK, WARNING, ERROR = Level.OK, Level.WARNING, Level.ERROR


@pytest.mark.parametrize(
    ("settings", "level"),
    [
        ({"appendonly": "yes", "appendfsync": "always"}, OK),
        ({"appendonly": "yes", "appendfsync": "everysec"}, OK),
        ({"appendonly": "yes", "appendfsync": "no"}, WARNING),
        ({"appendonly": "no", "appendfsync": "always"}, ERROR),
        (None, WARNING),
    ],
)
def test_durability_is_what_the_append_only_file_gives(
    settings: Facts | None, level: Level
) -> None:
    """A store that forgets at a restart is a problem."""
    assert findings.durability(settings).level is level


@pytest.mark.parametrize(
    ("replicas", "least", "url", "level"),
    [
        ([0], "0", "embedded://x", OK),
        ([0], "0", "valkey://db", WARNING),
        ([1], "0", "valkey://db", WARNING),
        ([1], "0", "valkey://db?ack=replicas:1", OK),
        ([1], "1", "valkey://db?ack=replicas:2", ERROR),
        ([1, 2], "1", "valkey-cluster://db", OK),
        ([1, 1], "0", "valkey-cluster://db", WARNING),
        ([1, 1], "0", "valkey-cluster://db?ack=replicas:1", OK),
        ([1, 0], "1", "valkey-cluster://db", WARNING),
    ],
)
def test_primaries_should_have_replicas(
    replicas: list[int], least: str, url: str, level: Level
) -> None:
    """The primary that is worst off counts."""
    servers = [{"connected_slaves": str(count)} for count in replicas]
    settings = [{"min-replicas-to-write": least}]
    assert findings.replication(servers, settings, urls.parse(url)).level is level


def test_the_primary_that_waits_for_no_replicas_counts() -> None:
    """A failover of it loses writes, whatever the others do; replicas are counted in words."""
    settings = [{"min-replicas-to-write": least} for least in ("1", "0")]
    url = urls.parse("valkey-cluster://db")
    found = findings.replication([{"connected_slaves": "1"}] * 2, settings, url)
    assert found.level is WARNING
    text = "1 replica or more for each of 2 primaries, min-replicas-to-write 0"
    assert found.text == text


def test_the_smallest_number_of_replicas_is_named() -> None:
    """By its value, not by its first digit."""
    settings = [{"min-replicas-to-write": least} for least in ("10", "9")]
    found = findings.replication(
        [{"connected_slaves": "10"}] * 2, settings, urls.parse("valkey-cluster://db")
    )
    assert found.text.endswith("min-replicas-to-write 9")


def test_waiting_for_the_disk_makes_every_sync_safe() -> None:
    settings = {"appendonly": "yes", "appendfsync": "no"}
    assert findings.durability(settings, Ack(disk=True)).level is OK


@pytest.mark.parametrize(
    ("used", "most", "policy", "level"),
    [
        (10, 0, "noeviction", OK),
        (10, 100, "noeviction", OK),
        (90, 100, "noeviction", WARNING),
        (10, 0, "allkeys-lru", ERROR),
    ],
)
def test_memory_must_not_be_taken_from_work(
    used: int, most: int, policy: str, level: Level
) -> None:
    """Eviction loses work; little room will soon refuse it."""
    facts = {"used_memory": str(used), "maxmemory": str(most), "maxmemory_policy": policy}
    assert findings.memory(facts).level is level


@pytest.mark.parametrize(
    ("loaded", "level"),
    [
        ([(5, "a"), (5, "a")], OK),
        ([(0, "")], ERROR),
        ([(5, "a"), (0, "")], ERROR),
        ([(4, "x")], ERROR),
        ([(5, "a"), (4, "x")], ERROR),
        ([(5, "other")], ERROR),
        ([(6, "b")], WARNING),
    ],
)
def test_the_library_of_each_primary_is_compared_with_ours(
    loaded: list[tuple[int, str]], level: Level
) -> None:
    """A newer one is fine for the store, but this installation is old."""
    found = findings.library(loaded, (5, "a"))
    assert found.level is level
    assert bool(found.fix) is (level is not OK)


@pytest.mark.parametrize(
    ("skews", "level"), [([3.0], OK), ([-1500.0], WARNING), ([-600.0, 700.0], WARNING)]
)
def test_clocks_that_differ_are_warned_of(skews: list[float], level: Level) -> None:
    """From ours, or from each other."""
    assert findings.clock(skews).level is level
