"""Doors: what a server opens to anyone, and nothing beside it."""

from __future__ import annotations

import pytest

from holdfast.errors import InvalidInput
from holdfast.server.chat.doors import Door
from holdfast.server.settings import ServerSettings


def test_a_door_is_written_with_or_without_a_tenant() -> None:
    """Two parts mean the tenant `default`."""
    assert Door.parse("prod/shop") == Door(env="prod", name="shop", tenant="default")
    assert Door.parse("prod/acme/shop") == Door(env="prod", name="shop", tenant="acme")
    assert Door.parse("prod/acme/*").name == "*"


@pytest.mark.parametrize("text", ["", "shop", "/", "prod/", "a/b/c/d", "prod/ac me/shop", "*/shop"])
def test_anything_else_is_refused(text: str) -> None:
    """A door that means something else than was meant would be worse than none."""
    with pytest.raises(InvalidInput):
        Door.parse(text)


def test_two_tenants_cannot_share_an_address() -> None:
    """A visitor could not know with whom they talk."""
    doors = (Door.parse("prod/acme/shop"), Door.parse("prod/umbrella/shop"))
    with pytest.raises(InvalidInput, match="same address"):
        ServerSettings(web_chats=doors)


@pytest.mark.parametrize("origin", ["example.org", "https://a.org/", "https://a.org; x", "'self'"])
def test_an_origin_cannot_add_to_the_policy(origin: str) -> None:
    """It becomes a part of a header."""
    with pytest.raises(InvalidInput, match="origin"):
        ServerSettings(web_chat_origins=(origin,))
