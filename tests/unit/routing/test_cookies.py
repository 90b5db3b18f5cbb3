"""Routing cookies: genuine, of this deployment, not expired."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from holdfast.errors import InvalidInput
from holdfast.model import bounds
from holdfast.model.tokens import Grant, KeyRing, SigningKey
from holdfast.routing import Candidate, Cookies, RoutingTable
from holdfast.routing.cookies import MOST_TTL_MS
from tests.unit.routing.test_table import table

NOW = 1_800_000_000_000
TABLE = table(7, a=5_000, b=5_000)
OLD, NEW = SigningKey("old", b"o" * 32, until_ms=NOW + 1_000), SigningKey("new", b"n" * 32)
RING = KeyRing("new", "old", {"old": OLD, "new": NEW})
COOKIES = Cookies(ttl_ms=60_000)


def test_a_cookie_says_what_was_put_into_it() -> None:
    """Until it expires, to the millisecond."""
    text = COOKIES.issue(TABLE, "a", RING, NOW)
    read = COOKIES.read(text, TABLE, RING, NOW + 59_999)
    assert read is not None
    assert (read.revision, read.generation, read.until_ms) == ("a", 7, NOW + 60_000)
    assert COOKIES.read(text, TABLE, RING, NOW + 60_000) is None


@pytest.mark.parametrize("part", ["env", "deployment", "tenant"])
def test_a_cookie_of_another_scope_is_ignored(part: str) -> None:
    """One tenant's users bring nothing into another."""
    changes: dict[str, Any] = {part: "other"}
    other = replace(TABLE, **changes)
    text = COOKIES.issue(other, "a", RING, NOW)
    assert COOKIES.read(text, TABLE, RING, NOW) is None
    assert Cookies.name(other) != Cookies.name(TABLE)


def test_a_changed_cookie_is_ignored() -> None:
    """Every character counts."""
    text = COOKIES.issue(TABLE, "a", RING, NOW)
    for place in range(len(text)):
        changed = text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]
        assert COOKIES.read(changed, TABLE, RING, NOW) is None
    assert COOKIES.read(text + "A", TABLE, RING, NOW) is None
    assert COOKIES.read(text[:-1], TABLE, RING, NOW) is None


@pytest.mark.parametrize("text", [None, 7, "", "hfc1", "hfc1...", "hfc1.new.e30.x", "\ud800"])
def test_what_is_no_cookie_is_ignored(text: object) -> None:
    """Nothing is raised."""
    assert COOKIES.read(text, TABLE, RING, NOW) is None


def test_a_retired_key_is_good_for_its_grace_period() -> None:
    """As for tokens."""
    text = COOKIES.issue(TABLE, "a", KeyRing("old", None, {"old": OLD}), NOW)
    assert COOKIES.read(text, TABLE, RING, NOW + 999) is not None
    assert COOKIES.read(text, TABLE, RING, NOW + 1_000) is None
    assert COOKIES.read(text, TABLE, KeyRing("new", None, {"new": NEW}), NOW) is None


def test_a_token_is_no_cookie() -> None:
    """The same keys sign both, but never the same text."""
    token = RING.sign(Grant("w", "approve", NOW)).reveal()
    assert COOKIES.read(token, TABLE, RING, NOW) is None
    assert COOKIES.read(token.replace("hf1.", "hfc1."), TABLE, RING, NOW) is None


def test_a_signed_body_of_another_form_is_ignored() -> None:
    """A later version may sign more; this one reads only what it knows."""
    for content in ([], ["local"], {"env": "local"}, [*"abcd", "x", "y"], [*"abcd", 1, 2, 3]):
        body = urlsafe_b64encode(msgspec.json.encode(content)).rstrip(b"=").decode()
        head = f"hfc1.new.{body}"
        assert COOKIES.read(f"{head}.{_sign(head)}", TABLE, RING, NOW) is None


def test_a_cookie_from_the_future_is_ignored() -> None:
    """A clock that was wrong does not make a cookie that never ends."""
    text = COOKIES.issue(TABLE, "a", RING, NOW + 2 * MOST_TTL_MS)
    assert COOKIES.read(text, TABLE, RING, NOW) is None


def test_the_longest_cookie_is_within_the_bound() -> None:
    """And its name is a legal one, whatever the deployment is called."""
    name = ":" * bounds.NAME_CHARS
    candidate = Candidate(revision=name, weight_bps=10_000, lifecycle="ready")
    routing = RoutingTable(name, name, name, bounds.GENERATION, (candidate,))
    ring = KeyRing("k" * 64, None, {"k" * 64: SigningKey("k" * 64, b"s" * 32)})
    text = COOKIES.issue(routing, name, ring, NOW)
    assert COOKIES.read(text, routing, ring, NOW) is not None
    assert Cookies.name(routing).removeprefix("hf_rev_").isalnum()


@pytest.mark.parametrize("ttl_ms", [0, -1, MOST_TTL_MS + 1, 1.5, "60"])
def test_the_life_of_cookies_is_checked(ttl_ms: int) -> None:
    """At least a millisecond, at most 30 days."""
    with pytest.raises(InvalidInput):
        Cookies(ttl_ms=ttl_ms)


def _sign(head: str) -> str:
    """Sign with the current key, as a holder of the key could."""
    digest = hmac.digest(NEW.secret, head.encode(), "sha256")
    return urlsafe_b64encode(digest).rstrip(b"=").decode()
