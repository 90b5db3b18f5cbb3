"""docs/routing.md does what it says."""

from __future__ import annotations

import re
import subprocess
import sys

from holdfast.model.pins import PinRules
from holdfast.routing.store_pins import DEADLINE_S
from tests.acceptance.processes import ROOT

PAGE = (ROOT / "docs" / "routing.md").read_text()


def test_the_program_prints_what_the_page_shows() -> None:
    """As written there."""
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (shown,) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.stderr) == (shown, "")


def test_the_page_has_the_defaults_of_the_code() -> None:
    """A reader can rely on the table."""
    rules = PinRules()
    assert f"| `cap` | {rules.cap:,} |" in PAGE
    assert rules.ttl_ms == 3_600_000
    assert "| `ttl_ms` | an hour |" in PAGE
    assert not rules.evict
    assert f"A call for a pin has {DEADLINE_S * 1_000:.0f} ms" in PAGE
