"""Fuzz of the reader of YAML files, in a process of its own like `run_machine`."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidPack
from holdfast.host.yaml_source import load
from tests.property.running import thorough

texts = st.one_of(
    st.text(alphabet="ab:-[]{}&*!|>'\"#?,\n \t%@`0.~\\", max_size=60), st.text(max_size=40)
)
#: Letters that YAML allows without an escape.
words = st.text(
    st.one_of(st.characters(min_codepoint=0x20, max_codepoint=0x7E), st.sampled_from("é☃😀")),
    min_size=1,
    max_size=20,
)
documents = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**62), 2**62), words),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(words, inner, max_size=4),
    ),
    max_leaves=12,
)


@thorough(1_000, large=50_000)
@given(texts)
def any_text(text: str) -> None:
    """It is read, and then JSON can hold it, or it is refused."""
    try:
        root = load(text, "a")
    except InvalidPack:
        return
    json.dumps(root.value, allow_nan=False).encode()
    for node in root.walk():
        node.position_of(3)


@thorough(300, large=10_000)
@given(documents)
def json_is_yaml(value: Any) -> None:
    """What the reader returns is what JSON says."""
    assert load(json.dumps(value, ensure_ascii=False), "a").value == value


if __name__ == "__main__":
    any_text()
    json_is_yaml()
