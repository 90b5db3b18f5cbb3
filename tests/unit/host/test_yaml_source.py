"""YAML with positions: what a value is, where it is, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import InvalidPack
from holdfast.host import yaml_source
from holdfast.host.yaml_source import Node, load

FLOW = """\
id: support
nodes:
  hello:
    emit: {text: "Hi {{ user.name }}"}
    out:
      - {when: "a == b", to: x}
      - to: y
  'quoted key': 2
"""


def _refused(text: str | bytes) -> InvalidPack:
    with pytest.raises(InvalidPack) as caught:
        load(text, "flows/a.yaml")
    assert caught.value.context["problem"] == "invalid_yaml"
    assert caught.value.context["file"] == "flows/a.yaml"
    return caught.value


def _at(node: Node, *path: str | int) -> Node:
    for part in path:
        node = node.items[part] if isinstance(part, int) else node.entries[part]
    return node


def test_every_value_and_every_key_has_its_place() -> None:
    """Lines and columns count from 1."""
    root = load(FLOW, "flows/a.yaml")
    assert (root.line, root.column, root.kind) == (1, 1, "mapping")
    text = _at(root, "nodes", "hello", "emit", "text")
    assert (text.value, text.line, text.column) == ("Hi {{ user.name }}", 4, 18)
    assert str(text.position) == "flows/a.yaml:4:18"
    when = _at(root, "nodes", "hello", "out", 0, "when")
    assert (when.value, when.line, when.column) == ("a == b", 6, 16)
    key = _at(root, "nodes").keys["quoted key"]
    assert (key.text, key.line, key.column) == ("quoted key", 8, 3)
    assert str(root.keys["nodes"].position) == "flows/a.yaml:2:1"
    assert root.value["nodes"]["hello"]["out"][1] == {"to": "y"}


def test_a_character_of_a_text_has_a_place() -> None:
    """A message about an expression can point into the text that has it."""
    root = load(FLOW, "a.yaml")
    text = _at(root, "nodes", "hello", "emit", "text")
    assert str(text.position_of(6)) == "a.yaml:4:25"
    block = load("a: |\n  one\n  two {{ x }}\n", "a.yaml").entries["a"]
    assert str(block.position_of(block.value.index("{{"))) == "a.yaml:3:7"
    plain = load("a: b {{ x }}\n", "a.yaml").entries["a"]
    assert str(plain.position_of(2)) == "a.yaml:1:6"


def test_a_character_whose_place_is_not_known_has_the_place_of_its_text() -> None:
    """Escapes and folding move characters."""
    escaped = load(r'a: "\x41\x42"', "a.yaml").entries["a"]
    assert str(escaped.position_of(1)) == "a.yaml:1:4"
    folded = load("a: >\n  one\n  two\n", "a.yaml").entries["a"]
    assert str(folded.position_of(4)) == "a.yaml:1:4"
    assert str(load("a: 5", "a.yaml").entries["a"].position_of(3)) == "a.yaml:1:4"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("False", False),
        ("yes", "yes"),
        ("on", "on"),
        ("12", 12),
        ("-7", -7),
        ("0x1F", 31),
        ("0o17", 15),
        ("012", 12),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("2026-01-31", "2026-01-31"),
        ("2d", "2d"),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.2.3", "1.2.3"),
        ("'12'", "12"),
        ("!!str 12", "12"),
    ],
)
def test_scalars_are_those_of_json(text: str, value: Any) -> None:
    """Words, dates and times that YAML 1.1 converts stay text."""
    node = load(f"a: {text}", "a.yaml").entries["a"]
    assert node.value == value
    assert type(node.value) is type(value)


def test_keys_are_text() -> None:
    """Whatever a key looks like, it is the text that is written."""
    assert load("{on: 1, 1: 2, null: 3, true: 4}", "a").value == {
        "on": 1,
        "1": 2,
        "null": 3,
        "true": 4,
    }


def test_an_empty_file_is_null() -> None:
    """It has a place as well."""
    node = load(b"# nothing\n", "a")
    assert (node.value, node.line, node.column, node.kind) == (None, 1, 1, "null")


def test_an_alias_is_the_value_of_its_anchor() -> None:
    """The place is that of the anchor's value."""
    root = load("a: &x {b: [1, 2]}\nc: *x\n", "a")
    assert root.value == {"a": {"b": [1, 2]}, "c": {"b": [1, 2]}}
    assert root.entries["c"].line == 1


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, 1, "given twice; the first is on line 1"),
        ("a: {x: 1, x: 2}", 1, 11, "given twice"),
        ("a: 1\n---\nb: 1\n", 2, 1, "one document"),
        ("a: [1, 2\n", 2, 1, "not YAML"),
        ("a: b: c", 1, 5, "not YAML"),
        ("a: !!python/object:os.system x", 1, 4, "tags are not supported"),
        ("a: !mine [1]", 1, 4, "tags are not supported"),
        ("a: &x 1\nb: {<<: *x}", 2, 5, "merge keys"),
        ("[1]: 2", 1, 1, "key must be text"),
        ("? {a: 1}\n: 2", 1, 3, "key must be text"),
        ("a: &x 1\n*x : 2", 2, 1, "key must be text"),
        ("a: *x", 1, 4, "does not exist"),
        ("a: &x [*x]", 1, 8, "inside itself"),
        ("a: .inf", 1, 4, "no JSON form"),
        ("a: 9223372036854775808", 1, 4, "too large"),
        ("a: 1e999", 1, 4, "too large"),
        ("a: " + "9" * 100_000, 1, 4, "too large"),
        ("a: 1." + "9" * 100_000, 1, 4, "too large"),
        ("'': 1", 1, 1, "key is empty"),
    ],
)
def test_what_is_not_allowed_is_refused_with_its_place(
    text: str, line: int, column: int, words: str
) -> None:
    """The message begins with the place and says what is wrong."""
    error = _refused(text)
    assert (error.context["line"], error.context["column"]) == (line, column), error.message
    assert error.message.startswith(f"flows/a.yaml:{line}:{column}: ")
    assert words in error.message


def test_what_is_not_utf_8_is_refused_with_its_place() -> None:
    """The column counts bytes there."""
    error = _refused(b"a: 1\nb: \xff\n")
    assert (error.context["line"], error.context["column"]) == (2, 4)
    _refused("a: \ud800")


def test_half_of_a_surrogate_pair_is_refused() -> None:
    """Otherwise the value could not be written anywhere."""
    _refused(r'a: "\ud800"')


def test_nesting_has_a_bound() -> None:
    """Written out or through aliases."""
    most = yaml_source.MAX_DEPTH
    load("[" * most + "]" * most, "a")
    assert "nested deeper" in _refused("[" * (most + 1) + "]" * (most + 1)).message
    assert "nested deeper" in _refused("[" * 1_000_000).message
    chain = "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 100))
    assert "nested deeper" in _refused(chain).message


def test_a_bomb_of_aliases_is_refused() -> None:
    """Nine levels of nine are a thousand million values."""
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for n in range(1, 9):
        bomb += f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n"
    assert "more than" in _refused(bomb).message


def test_size_has_a_bound() -> None:
    """In bytes and in values."""
    assert "bytes" in _refused("#" * (yaml_source.MAX_BYTES + 1)).message
    assert "values" in _refused("[" + "1," * yaml_source.MAX_NODES + "]").message


def test_the_walk_has_every_node() -> None:
    """In the order of the file."""
    root = load("{a: [1, {b: 2}], c: 3}", "a")
    assert [node.value for node in root.walk() if node.depth == 0] == [1, 2, 3]
    assert len(list(root.walk())) == root.size
