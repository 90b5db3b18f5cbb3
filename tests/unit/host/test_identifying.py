"""Whose a request is: the order of answers, what providers see, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from holdfast.errors import AmbiguousIdentity, InvalidInput, InvalidPack, ProviderFailed
from holdfast.host.identifying import HEADERS, Identity, Inbound, Match, merged, read, resolve
from holdfast.host.packs.definition import Provider
from holdfast.model import bounds
from tests.support.packs import files_of, pack_of

NOTHING, NONE, ANN, BEN = (
    Identity(),
    Identity(Match.NO_MATCH),
    Identity(Match.IDENTIFIED, "ann"),
    Identity(Match.IDENTIFIED, "ben"),
)
BOT = Provider(
    type="telegram", component="bot", operations=("send",), identify_headers=("X-Secret", "X-Team")
)
PACK = """\
id: shop
version: 1.0.0
components:
  bot: {{kind: http, source: "https://a.example.org", operations: [send{more}]}}
providers:
  - {{type: telegram, component: bot, operations: [send], identify: {{headers: [{headers}]}}}}
"""


@pytest.mark.parametrize(
    ("one", "other"), list(itertools.combinations_with_replacement((NOTHING, NONE, ANN), 2))
)
def test_the_higher_answer_counts_in_any_order(one: Identity, other: Identity) -> None:
    """UNSUPPORTED < NO_MATCH < IDENTIFIED: a merge never goes down."""
    assert one.merged(other) == other.merged(one) == other


def test_two_different_ids_are_an_error() -> None:
    """The first one does not win."""
    assert ANN.merged(ANN) == ANN
    with pytest.raises(AmbiguousIdentity, match="identified ann and another ben"):
        ANN.merged(BEN)
    with pytest.raises(AmbiguousIdentity):
        merged(["telegram"], [("telegram", BEN), ("telegram", NONE), ("telegram", ANN)])


def test_every_type_begins_as_unsupported() -> None:
    """Also one that no pack has."""
    assert merged(["slack", "telegram"], [("telegram", NONE)]) == {
        "slack": NOTHING,
        "telegram": NONE,
    }


def test_a_provider_sees_the_headers_that_it_declared_and_no_others() -> None:
    """Names have no case; repeated headers stay apart; the body is always there."""
    headers = (
        ("x-secret", "s"),
        ("X-SECRET", "t"),
        ("Authorization", "Bearer k"),
        ("X-Team", "blue"),
        ("Cookie", "a=b"),
    )
    assert Inbound(headers=headers, body=b'{"a": "\xff"}').seen_by(BOT) == {
        "headers": {"x-secret": ["s", "t"], "x-team": ["blue"]},
        "body": '{"a": "\N{REPLACEMENT CHARACTER}"}',
    }


def test_requests_have_bounds() -> None:
    """They come from outside."""
    with pytest.raises(InvalidInput):
        Inbound(headers=(("a", "b"),) * (HEADERS + 1))
    with pytest.raises(InvalidInput):
        Inbound(body=b"x" * (bounds.PAYLOAD_BYTES + 1))


@pytest.mark.parametrize("answer", ["ann", 1, {}, {"id": ""}, {"id": 7}, {"id": "x" * 257}, [], ()])
def test_an_answer_of_another_form_fails(answer: Any) -> None:
    """It is not taken for an id, nor for none."""
    with pytest.raises(ProviderFailed):
        read("telegram", answer)


def test_answers_are_null_or_an_id() -> None:
    """As the provider gives them."""
    assert (read("telegram", None), read("telegram", {"id": "ann"})) == (NONE, ANN)


@pytest.mark.parametrize(
    ("identities", "found"),
    [
        ({}, None),
        ({"telegram": NOTHING}, None),
        ({"telegram": NONE}, None),
        ({"telegram": ANN, "slack": NONE}, ("telegram", "ann")),
        ({"slack": NOTHING, "telegram": BEN}, ("telegram", "ben")),
    ],
)
def test_one_known_instance_is_meant(
    identities: dict[str, Identity], found: tuple[str, str] | None
) -> None:
    """Or none, where one instance of the type is all there is."""
    known = {"slack": ["ann"], "telegram": ["ann", "ben"]}
    if identities.get("telegram") == NONE:
        known["telegram"] = ["ann"]
    assert resolve(identities, known) == found


@pytest.mark.parametrize(
    ("identities", "words"),
    [
        ({"telegram": ANN, "slack": BEN}, "telegram ann and of slack ben"),
        ({"telegram": Identity(Match.IDENTIFIED, "eve")}, "telegram eve, which is not set up"),
        (
            {"telegram": ANN, "slack": Identity(Match.IDENTIFIED, "eve")},
            "slack eve, which is not set up",
        ),
        ({"telegram": NONE}, "none of the 2 instances of telegram"),
    ],
)
def test_what_is_not_certain_is_refused(identities: dict[str, Identity], words: str) -> None:
    """Several instances, one that nobody set up, and one of many that nobody recognises."""
    with pytest.raises(AmbiguousIdentity, match=words):
        resolve(identities, {"slack": ["ben"], "telegram": ["ann", "ben"]})


@pytest.mark.parametrize(
    "header", ["Authorization", "proxy-authorization", "COOKIE", "x-holdfast-a"]
)
def test_no_provider_sees_credentials(header: str) -> None:
    """A pack cannot ask for them."""
    with pytest.raises(InvalidPack, match="must not be a header with credentials"):
        pack_of(files_of(PACK.format(more=", identify", headers=header)))


def test_a_provider_that_identifies_has_the_operation() -> None:
    """Headers may be none: it looks at the body."""
    pack = pack_of(files_of(PACK.format(more=", identify", headers="")))
    assert pack.definition.providers[0].identifies
    with pytest.raises(InvalidPack, match="`bot` has no operation `identify`"):
        pack_of(files_of(PACK.format(more="", headers="X-Team")))
