"""Settings of a server are refused in the words of its options."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import InvalidInput
from holdfast.server.settings import ServerSettings


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"most_waits": 0}, "max-waits"),
        ({"most_tails": 0}, "max-tails"),
        ({"tail_s": -1}, "tail-life"),
        ({"cors": ("*",)}, "cors"),
        ({"cors": ("app.example.org",)}, "cors"),
        ({"cors": ("https://app.example.org/",)}, "cors"),
        ({"cors": ("https://App.example.org",)}, "cors"),
    ],
)
def test_what_can_never_work_is_refused(settings: dict[str, Any], field: str) -> None:
    """An origin is compared as browsers send it: with a slash at its end it would never match."""
    with pytest.raises(InvalidInput) as caught:
        ServerSettings(**settings)
    assert caught.value.context["field"] == field


@pytest.mark.parametrize("origin", ["https://app.example.org", "http://localhost:5173"])
def test_origins_are_taken(origin: str) -> None:
    """With a port or without."""
    assert ServerSettings(cors=(origin,)).cors == (origin,)
