"""What integrations share."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.integrations import agent_steps
from holdfast.model.codec import AesGcm, Codec
from holdfast.model.sealing import Sealing
from holdfast.store.store import Store


def near(codec: Codec | None) -> Any:
    store = Store.__new__(Store)
    store.sealing = Sealing(codec)
    return SimpleNamespace(engine=SimpleNamespace(store=store))


FAR: Any = SimpleNamespace(engine=SimpleNamespace())


@pytest.mark.parametrize(
    ("ctx", "expected"),
    [(near(None), 'delete {"n": 1}'), (near(AesGcm({"k": b"0" * 32})), "delete"), (FAR, "delete")],
)
def test_titles_have_details_only_where_payloads_are_plain(ctx: Any, expected: str) -> None:
    """Titles stay readable in the store, so they must not reveal what payloads hide."""
    assert agent_steps.title(ctx, "delete", '{"n": 1}') == expected


def test_titles_have_a_bound() -> None:
    """Long questions are cut."""
    assert len(agent_steps.title(near(None), "delete", "x" * 1_000)) == 256
