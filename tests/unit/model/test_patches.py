"""patches: JSON merge patch, exactly."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from holdfast.errors import InvalidInput, TooLarge
from holdfast.model import bounds
from holdfast.model.merge_patch import merge

# The examples of RFC 7396, appendix A, whose patches are objects.
RFC = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("document", "patch", "expected"), RFC)
def test_the_examples_of_the_standard(document: Any, patch: Any, expected: Any) -> None:
    """Each as it is printed there."""
    assert json.loads(merge(_bytes(document), _bytes(patch))) == expected


def test_what_a_patch_does_not_name_keeps_every_byte() -> None:
    """Digits that no number type holds, empty arrays and empty objects."""
    document = b'{"big":123456789012345678901234567890,"f":1.10,"e":[],"o":{},"x":1e999}'
    assert merge(document, b'{"new":0.10}') == document[:-1] + b',"new":0.10}'


@pytest.mark.parametrize("patch", [b"1", b"null", b"[]", b'"a"', b"", b"{", b'{"a":}', b"{} x"])
def test_a_patch_must_be_an_object(patch: bytes) -> None:
    """The whole document cannot be replaced or removed."""
    with pytest.raises(InvalidInput):
        merge(b"{}", patch)


def test_a_document_is_bounded() -> None:
    """In bytes and in depth."""
    half = b'"' + b"x" * (bounds.SUMMARY_BYTES // 2) + b'"'
    document = merge(b"{}", b'{"a":' + half + b"}")
    with pytest.raises(TooLarge):
        merge(document, b'{"b":' + half + b"}")
    deep = bounds.SUMMARY_DEPTH
    assert merge(b"{}", b'{"a":' * deep + b"1" + b"}" * deep).count(b"{") == deep
    with pytest.raises(InvalidInput):
        merge(b"{}", b'{"a":' * (deep + 1) + b"1" + b"}" * (deep + 1))


def _value(dice: random.Random, depth: int) -> Any:
    """Any JSON value, with few names, so that they meet."""
    choice = dice.randrange(7 if depth else 4)
    if choice >= 5:
        return _object(dice, depth - 1)
    if choice == 4:
        return [_value(dice, depth - 1) for _ in range(dice.randrange(3))]
    return (None, True, dice.randrange(-9, 9), dice.choice(["", "x", "\u00e9\n"]))[choice]


def _object(dice: random.Random, depth: int = 3) -> dict[str, Any]:
    return {name: _value(dice, depth) for name in dice.sample("abc", dice.randrange(4))}


@pytest.mark.parametrize("seed", range(5))
def test_it_does_what_the_pseudocode_of_the_standard_does(seed: int) -> None:
    """For any two objects; and a patch twice is a patch once."""
    dice = random.Random(seed)
    for _ in range(200):
        document, patch = _object(dice), _object(dice)
        once = merge(_bytes(document), _bytes(patch))
        assert json.loads(once) == _reference(document, patch)
        assert json.loads(merge(once, _bytes(patch))) == json.loads(once)


def _bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


def _reference(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _reference(merged.get(name), value)
    return merged
