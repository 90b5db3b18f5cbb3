"""store.boot: which servers are refused, and what their owner is told to do."""

from __future__ import annotations

import pytest

from holdfast.errors import StoreIncompatible
from holdfast.store.valkey import boot

VALKEY = "# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\n"
NOEVICTION = "# Memory\r\nmaxmemory_policy:noeviction\r\n"


def test_a_good_server_is_accepted() -> None:
    """Valkey of a new enough version that throws nothing away."""
    boot.check_server(VALKEY + NOEVICTION)


@pytest.mark.parametrize("version", ["8.0.0", "8.1.3", "10.0.0", "255.255.255"])
def test_new_versions_are_accepted(version: str) -> None:
    """Versions are compared as numbers."""
    boot.check_server(VALKEY.replace("9.1.2", version) + NOEVICTION)


@pytest.mark.parametrize("version", ["7.2.8", "7.9.9", "0.0.1", "unstable"])
def test_an_old_valkey_is_refused(version: str) -> None:
    """The message says which version to use."""
    with pytest.raises(StoreIncompatible, match="use Valkey 8 or newer") as refused:
        boot.check_server(VALKEY.replace("9.1.2", version) + NOEVICTION)
    assert refused.value.context["version"] == version


@pytest.mark.parametrize(
    ("info", "found"),
    [
        ("redis_version:7.4.1\r\nredis_mode:standalone\r\n", "7.4.1"),
        ("redis_version:8.0.0\r\nserver_name:redis\r\n", "8.0.0"),
        ("redis_version:7.4.0\r\nserver_name:other\r\nvalkey_version:9.0.0\r\n", "7.4.0"),
        ("", "an unknown server"),
    ],
)
def test_redis_is_refused(info: str, found: str) -> None:
    """The message says what to use instead."""
    with pytest.raises(StoreIncompatible, match=r"use Valkey 8 or newer, or embedded://") as no:
        boot.check_server(info)
    assert no.value.context["version"] == found


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl", "volatile-lru"])
def test_eviction_is_refused(policy: str) -> None:
    """The message holds the command that mends it."""
    info = VALKEY + NOEVICTION.replace("noeviction", policy)
    with pytest.raises(
        StoreIncompatible, match="CONFIG SET maxmemory-policy noeviction"
    ) as refused:
        boot.check_server(info)
    assert refused.value.context["policy"] == policy


def test_the_stored_number_of_partitions_is_taken() -> None:
    """Who asks for none takes what is there; who asks for the same is fine."""
    assert boot.check_partitions(16, None, boot.FORMAT) == 16
    assert boot.check_partitions(16, 16, boot.FORMAT) == 16


@pytest.mark.parametrize("asked", [1, 15, 17, 4096])
def test_another_number_of_partitions_is_refused(asked: int) -> None:
    """The message says what is stored and what to do."""
    with pytest.raises(StoreIncompatible, match="leave `partitions` out") as refused:
        boot.check_partitions(16, asked, boot.FORMAT)
    assert refused.value.context == {"stored": 16, "asked": asked}


@pytest.mark.parametrize("stored", [0, boot.FORMAT + 1])
def test_another_format_is_refused(stored: int) -> None:
    """Data that this version cannot read is left alone."""
    with pytest.raises(StoreIncompatible, match="use the version of Holdfast that wrote it"):
        boot.check_partitions(1, None, stored)
