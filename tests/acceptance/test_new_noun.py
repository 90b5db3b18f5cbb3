"""A new noun is what CONTRIBUTING.md shows: five files, and a line in a sixth."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from asyncio.subprocess import PIPE, create_subprocess_exec
from pathlib import Path

from holdfast.testing.servers import start_server
from tests.acceptance.processes import ROOT, environment
from tests.support.http_servers import server_process

_FILE = re.compile(r"   ```python\n   # (\S+things\.py)\n(.*?)   ```\n", re.DOTALL)
_POKE = ("things", "poke", "cat", "--store")


def add_things(folder: Path) -> Path:
    """Copy the source and add the noun; returns the folder that Python imports it from."""
    source = folder / "src"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "holdfast", source / "holdfast", ignore=ignored)
    files = _FILE.findall((ROOT / "CONTRIBUTING.md").read_text())
    assert len(files) == 5
    for name, text in files:
        (source / "holdfast" / name).write_text(textwrap.dedent(text))
    engine = source / "holdfast" / "api" / "engine.py"
    lines = {
        "from holdfast.api.tasks import Tasks\n": "from holdfast.api.things import Things\n",
        "    tasks: Tasks\n": "    things: Things\n",
    }
    text = engine.read_text()
    for before, line in lines.items():
        text = text.replace(before, before + line)
    engine.write_text(text)
    return source


async def run(source: Path, *args: str) -> str:
    """Run `holdfast` with the noun and return what it prints."""
    process = await create_subprocess_exec(
        *(sys.executable, "-m", "holdfast.cli", *args),
        cwd=source.parent,
        env={**environment(source.parent), "PYTHONPATH": str(source)},
        stdout=PIPE,
        stderr=PIPE,
    )
    printed, problem = await process.communicate()
    assert process.returncode == 0, problem.decode()
    return printed.decode()


async def test_the_noun_of_the_example_works_near_far_and_in_the_help(tmp_path: Path) -> None:
    """Nothing else lists nouns: the copy has no other change."""
    source = add_things(tmp_path)
    line = re.compile(r"^  things +What can be poked: poke\.$", re.MULTILINE)
    assert line.search(await run(source, "--help"))
    with start_server() as server:
        store = f"valkey://127.0.0.1:{server.port}"
        assert await run(source, *_POKE, store) == "cat says ouch\n"
        async with server_process(store, tmp_path, PYTHONPATH=str(source)) as (url, _):
            assert await run(source, *_POKE, url) == "cat says ouch\n"
