"""Whose session it is: every part of the key counts, and no two keys have the same id."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from holdfast.errors import InvalidInput
from holdfast.model.session_keys import SessionKey, session_of

KEY = SessionKey(conversation="c", user="u", endpoint="e", tenant="t", env="prod")
PARTS = ("env", "tenant", "endpoint", "conversation", "user")


@pytest.mark.parametrize("mark", [":", "~", "/", "|", ",", '"', "\\", '","', "\u00e9"])
def test_no_two_keys_have_the_same_id(mark: str) -> None:
    """However their parts would read when joined."""
    texts = ["".join(parts) for n in (1, 2, 3) for parts in product(("a", mark), repeat=n)]
    pairs = list(product(texts, repeat=2))
    ids = {replace(KEY, conversation=room, user=user).id for room, user in pairs}
    assert len(ids) == len(pairs)


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_a_key_makes_another_session(part: str) -> None:
    """Also the same value in another part."""
    changed = {name: replace(KEY, **_with(name, "other")).id for name in PARTS}
    assert changed[part] != KEY.id
    assert list(changed.values()).count(changed[part]) == 1


def test_a_colon_in_a_name_belongs_to_that_name() -> None:
    """It does not move a part of it to the next."""
    keys = [
        replace(KEY, tenant="a:b", endpoint="c", conversation="d"),
        replace(KEY, tenant="a", endpoint="b:c", conversation="d"),
        replace(KEY, tenant="a", endpoint="b", conversation="c:d"),
    ]
    assert len({key.id for key in keys}) == len(keys)


def _with(part: str, value: Any) -> Any:
    return {part: value}


def test_an_id_depends_on_the_key_alone() -> None:
    """Every process finds the session of a message without asking, so the id must not change."""
    assert replace(KEY).id == KEY.id == "s9jcdh6efke6gbmppe49gge79"
    assert session_of(f"{KEY.id}~12") == KEY.id


@pytest.mark.parametrize("part", ["env", "tenant", "endpoint"])
@pytest.mark.parametrize("wrong", ["", "a b", "a\n", "a/b", "\u00e9", "x" * 200, None, 5])
def test_a_part_that_is_no_name_is_refused(part: str, wrong: Any) -> None:
    """Nothing takes its place, neither the default nor a part of it."""
    with pytest.raises(InvalidInput) as refused:
        replace(KEY, **_with(part, wrong))
    assert refused.value.context["field"] == part


@pytest.mark.parametrize("part", ["conversation", "user"])
@pytest.mark.parametrize("wrong", ["", "a\n", "a\0", "x" * 2_000, None, 5])
def test_an_unknown_user_is_nobody(part: str, wrong: Any) -> None:
    """Messages without a user or a conversation do not share a session."""
    with pytest.raises(InvalidInput):
        replace(KEY, **_with(part, wrong))
