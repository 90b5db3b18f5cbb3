"""The colours of pages: every pair that pages use can be read, in both themes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[3] / "pages"
TOKENS = "".join(
    (PAGES / folder / "tokens.css").read_text("utf-8") for folder in ("design", "console/style")
)
COLOUR = re.compile(r"--([\w-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)")
LIGHT = {name: light for name, light, _ in COLOUR.findall(TOKENS)}
DARK = {name: dark for name, _, dark in COLOUR.findall(TOKENS)}
#: Text needs 4.5:1, borders of controls and marks of focus 3:1 (WCAG 2.2, AA).
TEXT, CONTROL = 4.5, 3.0
PAIRS = [
    *((ink, paper, TEXT) for ink in ("ink", "ink-2", "ink-3") for paper in ("paper", "paper-2")),
    *((ink, "paper-3", TEXT) for ink in ("ink", "ink-2")),
    *((ink, "paper", TEXT) for ink in ("danger", "warn", "good")),
    *(
        (ink, paper, TEXT)
        for ink in ("ink", "ink-2", "ink-3", "accent", "danger", "warn", "good", "violet")
        for paper in ("panel", "ground", "hover")
    ),
    *((ink, "chosen", TEXT) for ink in ("ink", "ink-2", "ink-3", "accent")),
    ("on-accent", "accent", TEXT),
    ("accent", "paper", CONTROL),
    *(("edge", paper, CONTROL) for paper in ("paper", "paper-2")),
]


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as WCAG defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("ink", "paper", "least"), PAIRS)
def test_a_pair_can_be_read(theme: dict[str, str], ink: str, paper: str, least: float) -> None:
    """By people with low vision too."""
    assert contrast(theme[ink], theme[paper]) >= least
