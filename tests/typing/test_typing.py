"""Type checkers know what a task takes and returns."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.timeout(180)


def check(path: Path) -> tuple[str, int]:
    """Run mypy on a file as the project does: strictly, and an unused ignore is an error."""
    config, cache = ROOT / "pyproject.toml", ROOT / ".mypy_cache"
    limit = sys.getrecursionlimit()
    try:
        report, problems, status = api.run(
            [
                "--config-file",
                str(config),
                "--cache-dir",
                str(cache),
                "--no-error-summary",
                str(path),
            ]
        )
    finally:
        # mypy raises it; other tests of this process would parse deeper than users' processes.
        sys.setrecursionlimit(limit)
    return report + problems, status


def test_the_public_api_is_typed_as_users_write_it() -> None:
    """Every assert_type holds, and every marked misuse is an error."""
    report, status = check(Path(__file__).with_name("api.py"))
    assert (report, status) == ("", 0)


def test_the_check_can_fail(tmp_path: Path) -> None:
    """A wrong argument without a mark is reported."""
    module = tmp_path / "misuse.py"
    module.write_text(
        "from holdfast import App\n"
        "app = App()\n"
        "@app.task\n"
        "async def double(x: int) -> int:\n"
        "    return 2 * x\n"
        "async def main() -> str:\n"
        "    handle = await double.submit('four')\n"
        "    return await handle.result()\n"
    )
    report, status = check(module)
    assert status == 1
    assert 'misuse.py:7: error: Argument 1 to "submit"' in report
    assert 'misuse.py:8: error: Incompatible return value type (got "int"' in report


def test_a_misspelt_attribute_of_a_client_is_an_error(tmp_path: Path) -> None:
    """A client has what the contract has, and nothing else."""
    module = tmp_path / "misspelt.py"
    module.write_text(
        "from holdfast import Client\n"
        "client = Client('http://server')\n"
        "async def main() -> None:\n"
        "    await client.graph.describe('g')\n"
        "    await client.budgets.reset_('b')\n"
        "    await client.submit(5)\n"
        "    client.store\n"
    )
    report, status = check(module)
    assert status == 1
    assert 'misspelt.py:4: error: "Client" has no attribute "graph"' in report
    assert 'misspelt.py:5: error: "Budgets" has no attribute "reset_"' in report
    assert "misspelt.py:6: error: Argument 1" in report
    assert 'misspelt.py:7: error: "Client" has no attribute "store"' in report
