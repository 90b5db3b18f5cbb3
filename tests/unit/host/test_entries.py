"""Which flow a message starts."""

from __future__ import annotations

import pytest

from holdfast.errors import AmbiguousFlow, FlowNotFound
from holdfast.host.entries import resolve
from holdfast.host.flows.model import FlowType
from holdfast.host.packs import Pack
from tests.support.packs import pack_of


def _pack(pack_id: str, entry: str = "", **flows: str) -> Pack:
    """Return a pack whose flows are given by their types; `-` before one makes it internal."""
    head = f"id: {pack_id}\nversion: 1.0.0\n" + (f"entry: {entry}\n" if entry else "")
    files = {"pack.yaml": head.encode()}
    for name, kind in flows.items():
        internal = "internal: true\n" if kind.startswith("-") else ""
        text = (
            f"id: {name}\ntype: {kind.removeprefix('-')}\n{internal}nodes: {{a: {{set: {{}}}}}}\n"
        )
        files[f"flows/{name}.yaml"] = text.encode()
    return pack_of(files)


SHOP = _pack("shop", "main", main="messaging", help="messaging", nightly="timer", inner="-job")
MAIL = _pack("mail", main="messaging", hook="http", daily="timer")


def _name(*packs: Pack, **wanted: str) -> str:
    kind = wanted.pop("type", None)
    pack, flow = resolve(packs, type=None if kind is None else FlowType(kind), **wanted)
    return f"{pack.id}/{flow.id}"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, "shop/main"),
        ({"pack": "shop"}, "shop/main"),
        ({"pack": "mail", "flow": "main"}, "mail/main"),
        ({"pack": "shop", "flow": "help"}, "shop/help"),
        ({"flow": "help"}, "shop/help"),
        ({"type": "http"}, "mail/hook"),
        ({"pack": "mail", "type": "timer"}, "mail/daily"),
        ({"flow": "hook", "type": "timer"}, "mail/hook"),
    ],
)
def test_a_message_starts_what_it_names(wanted: dict[str, str], found: str) -> None:
    """Pack and flow, the flow alone, the type alone, or nothing: then it is the entry."""
    assert _name(SHOP, MAIL, **wanted) == found


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"pack": "shop", "flow": "hook"}, "there is no flow `hook` in the pack `shop` to start"),
        ({"pack": "shoop", "flow": "main"}, "did you mean `shop`"),
        ({"flow": "halp"}, "did you mean `help`"),
        ({"flow": "inner"}, "there is no flow `inner` to start"),
        ({"type": "job"}, "there is no flow of the type job to start"),
        ({"pack": "shop", "type": "http"}, "in the pack `shop`"),
    ],
)
def test_what_does_not_exist_is_not_found(wanted: dict[str, str], words: str) -> None:
    """Internal flows do not exist for messages."""
    with pytest.raises(FlowNotFound) as raised:
        _name(SHOP, MAIL, **wanted)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    "wanted", [{"flow": "main"}, {"type": "messaging"}, {"type": "timer"}, {"pack": "mail"}]
)
def test_what_could_be_several_is_ambiguous(wanted: dict[str, str]) -> None:
    """That is another error than one that says it does not exist, and lists what it could be."""
    with pytest.raises(AmbiguousFlow) as raised:
        _name(SHOP, MAIL, **wanted)
    assert "name one of" in str(raised.value)
    assert len(raised.value.context["flows"]) >= 2


def test_a_pack_without_entry_flows_starts_nothing() -> None:
    """All its flows are internal."""
    with pytest.raises(FlowNotFound, match="no flow that a message can start"):
        _name(_pack("a", one="-messaging"))


def test_the_only_flow_that_is_not_internal_is_the_entry() -> None:
    """It does not have to be named."""
    assert _name(_pack("a", one="-messaging", two="messaging")) == "a/two"
