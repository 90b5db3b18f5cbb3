"""What `python -m bench.libs` prints."""

from __future__ import annotations

import pytest

from bench.libs import measure


async def test_functions_of_the_libs_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """A plain execution is claimed once, and one with a step is recorded in batches."""
    await measure(100, most=200)
    plain, with_quota, with_step = capsys.readouterr().out.strip().split("\n\n")
    assert plain.startswith("plain, for each execution")
    for part in (plain, with_quota, with_step):
        calls = {line.split()[0]: float(line.split()[1]) for line in part.splitlines()[1:]}
        assert calls["first_claims.take"] == 1
        assert ("checkpoints.all" in calls) == (part is with_step)
        assert ("admitting.look_up" in calls) == (part is with_quota)
