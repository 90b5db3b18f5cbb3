"""store.urls: where the store is, without its secrets."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import InvalidInput
from holdfast.store.valkey import urls
from holdfast.store.valkey.acks import Ack
from holdfast.store.valkey.urls import StoreUrl


@pytest.mark.parametrize(
    ("url", "cluster", "tls"),
    [
        ("valkey://db", False, False),
        ("valkeys://db", False, True),
        ("valkey-cluster://db", True, False),
        ("valkeys-cluster://db", True, True),
    ],
)
def test_every_scheme_says_cluster_and_tls(url: str, *, cluster: bool, tls: bool) -> None:
    """The scheme alone decides, and comes back in the text."""
    parsed = urls.parse(url)
    assert (parsed.cluster, parsed.tls) == (cluster, tls)
    assert parsed.addresses == (("db", 6379),)
    assert parsed.path is None
    assert str(parsed) == f"{url}:6379"


@pytest.mark.parametrize(
    ("url", "addresses"),
    [
        ("valkey://db:7000", (("db", 7000),)),
        ("valkey://db:7000/", (("db", 7000),)),
        ("valkey://[::1]:7000", (("::1", 7000),)),
        ("valkey-cluster://a:1,b,c:3", (("a", 1), ("b", 6379), ("c", 3))),
    ],
)
def test_addresses_are_parsed(url: str, addresses: tuple[tuple[str, int], ...]) -> None:
    """Ports have a default, a cluster may have several addresses."""
    assert urls.parse(url).addresses == addresses


@pytest.mark.parametrize(
    ("login", "username", "password"),
    [
        ("", None, None),
        ("user:secret@", "user", "secret"),
        (":secret@", None, "secret"),
        ("us%40er:sec%2Fr%40t@", "us@er", "sec/r@t"),
        ("user:se@cret@", "user", "se@cret"),
        ("user:se:cret@", "user", "se:cret"),
    ],
)
def test_logins_are_parsed(login: str, username: str | None, password: str | None) -> None:
    """Both parts may be escaped; the last @ separates them from the host."""
    parsed = urls.parse(f"valkey://{login}db")
    assert (parsed.username, parsed.password) == (username, password)
    assert parsed.addresses == (("db", 6379),)


def test_a_password_is_in_no_text() -> None:
    """Logs and errors may show the URL."""
    parsed = urls.parse("valkey://user:s3cret@db?prefix=a")
    assert "s3cret" not in str(parsed)
    assert "s3cret" not in repr(parsed)
    assert f"{parsed}" == "valkey://db:6379"


@pytest.mark.parametrize(
    "url",
    [
        "valkey://:s3cret@db:port",
        "valkey://:s3cret@",
        "valkey://:s3cret@db/0",
        "valkey://:s3cret@db?partitions=0",
        "valkey://:s3cret@db?nonsense=1",
        "valkei://:s3cret@db",
        "valkey://:s3cret\n@db",
        "valkey://:s3cret@" + "x" * 3000,
    ],
)
def test_a_password_is_in_no_error(url: str) -> None:
    """A mistake elsewhere in the URL must not print the secret."""
    with pytest.raises(InvalidInput) as refused:
        urls.parse(url)
    assert "s3cret" not in str(refused.value)
    assert "s3cret" not in repr(refused.value.context)


def test_a_url_can_be_sent_to_another_process() -> None:
    """It is a plain value."""
    parsed = urls.parse("valkey://user:s3cret@db?prefix=a")
    assert pickle.loads(pickle.dumps(parsed)) == parsed  # noqa: S301 - our own bytes


def test_an_embedded_store_has_an_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another working folder later must not mean another store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert urls.parse("embedded://data/x").path == tmp_path / "data/x"
    assert urls.parse("embedded:///var/x").path == Path("/var/x")
    assert urls.parse("embedded://~/x").path == Path("/home/somebody/x")
    assert urls.parse("embedded://a%20b").path == tmp_path / "a b"
    assert urls.parse("embedded://").path == tmp_path / ".holdfast"
    assert str(urls.parse("embedded:///var/x")) == "embedded:///var/x"


def test_options_are_parsed() -> None:
    """Options are a query."""
    parsed = urls.parse("embedded:///x?partitions=16&prefix=my-app&fsync=everysec")
    assert (parsed.partitions, parsed.prefix, parsed.fsync) == (16, "my-app", "everysec")


def test_options_have_defaults() -> None:
    """Without options: what is stored, prefix hf, every write on disk."""
    parsed = urls.parse("embedded:///x")
    assert (parsed.partitions, parsed.prefix, parsed.fsync) == (None, "hf", "always")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("partitions=0", "store.partitions"),
        ("partitions=4097", "store.partitions"),
        ("partitions=-1", "store.partitions"),
        ("partitions=1.5", "store.partitions"),
        ("partitions=nan", "store.partitions"),
        ("partitions=", "store.partitions"),
        ("prefix=", "store.prefix"),
        ("prefix=a b", "store.prefix"),
        ("prefix={p:0}", "store.prefix"),
        ("fsync=sometimes", "store.fsync"),
        ("fsync=", "store.fsync"),
        ("partition=16", "store.partition"),
        ("Prefix=x", "store.Prefix"),
        ("ack=disk&ack=disk", "store.ack"),
        ("prefix=a&prefix=b", "store.prefix"),
    ],
)
def test_a_bad_option_is_refused_by_name(query: str, field: str) -> None:
    """An option that does not exist is not ignored."""
    with pytest.raises(InvalidInput) as refused:
        urls.parse(f"embedded:///x?{query}")
    assert refused.value.context["field"] == field


def test_fsync_belongs_to_an_embedded_store() -> None:
    """The disk of a server elsewhere is not ours to set."""
    with pytest.raises(InvalidInput) as refused:
        urls.parse("valkey://db?fsync=always")
    assert refused.value.context["field"] == "store.fsync"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "db:6379",
        "redis://db",
        "VALKEY//db",
        "valkey:/db",
        "valkey://",
        "valkey://:6379",
        "valkey://db:port",
        "valkey://db:99999",
        "valkey://db:-1",
        "valkey://db/0",
        "valkey://[::1",
        "valkey-cluster://a,,b",
        "valkey://db\n",
        None,
        5,
        b"valkey://db",
    ],
)
def test_a_bad_url_is_refused(url: Any) -> None:
    """The error is about the store, not about a parser."""
    with pytest.raises(InvalidInput) as refused:
        urls.parse(url)
    assert refused.value.context["field"] == "store"


def test_an_unknown_scheme_is_told_the_known_ones() -> None:
    """The message says what to write instead."""
    with pytest.raises(InvalidInput, match=r"embedded://, valkey://, valkeys://, valkey-cluster:"):
        urls.parse("redis://db")


def test_a_single_server_has_one_address() -> None:
    """A list of servers without a cluster is a mistake that must not pass unnoticed."""
    with pytest.raises(InvalidInput) as refused:
        urls.parse("valkey://a,b")
    assert refused.value.context["field"] == "store"


def test_a_user_without_a_password_is_refused() -> None:
    """It would be connected as nobody, silently."""
    with pytest.raises(InvalidInput) as refused:
        urls.parse("valkey://user@db")
    assert refused.value.context["field"] == "store"


def test_a_store_url_is_a_value() -> None:
    """Two of the same content are equal."""
    assert urls.parse("valkey://db") == StoreUrl(addresses=(("db", 6379),))


@pytest.mark.parametrize(
    ("text", "ack"), [("disk", Ack(disk=True)), ("replicas:2", Ack(replicas=2))]
)
def test_an_acknowledgement_can_mean_more(text: str, ack: Ack) -> None:
    """That replicas have it, or the disk."""
    parsed = urls.parse(f"valkey://db?ack={text}")
    assert (parsed.ack, str(ack)) == (ack, text)
    assert urls.parse("valkey://db").ack is None
    assert urls.parse("embedded://x?ack=disk").ack == Ack(disk=True)


@pytest.mark.parametrize(
    "url",
    [
        *(f"valkey://db?ack={text}" for text in ("", "all", "replicas", "replicas:", "replicas:0")),
        *(f"valkey://db?ack={text}" for text in ("replicas:17", "replicas:-1", "disk:1")),
        "embedded://x?ack=replicas:1",
    ],
)
def test_other_acknowledgements_are_refused(url: str) -> None:
    """With the name of the option."""
    with pytest.raises(InvalidInput, match=r"store\.ack: "):
        urls.parse(url)
