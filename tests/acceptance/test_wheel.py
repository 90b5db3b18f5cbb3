"""The wheel and the source distribution: a machine without a checkout needs nothing else."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.acceptance.processes import ROOT

pytestmark = pytest.mark.timeout(180)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_PROGRAM = """
import holdfast, sys
from importlib.metadata import version
app = holdfast.App("embedded://store")
@app.task
async def hello(name: str) -> str:
    return f"Hello {name}"
print(version("holdfast"), holdfast.__file__.startswith(sys.prefix), app.run(hello, "Ada"))
"""


def _build(source: Path, kind: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that is built from the source distribution, not from the checkout."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    return _build(source, "wheel", tmp_path_factory.mktemp("wheel"))


def test_the_wheel_has_the_pages(wheel: Path) -> None:
    """And neither their sources nor what only tests use."""
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in ("chat.js", "chat.css", "embed.js", "console.js", "console.css"):
        assert f"holdfast/server/static/{name}" in names
    assert "holdfast/server/http/pages/answer.html" in names
    assert not [name for name in names if "axe" in name or name.endswith((".ts", ".tsx"))]


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    """Whichever way it was built: files that git ignores would be missing."""
    names = set(zipfile.ZipFile(wheel).namelist())
    listed = subprocess.run(
        ["git", "ls-files", "src/holdfast"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a checkout of git")
    missing = {path.removeprefix("src/") for path in listed.stdout.split()} - names
    assert missing == set()


def test_the_wheel_runs_in_an_environment_of_its_own(wheel: Path, tmp_path: Path) -> None:
    """Installed by pip; the libraries that it needs come from here, its own code does not."""
    venv.create(tmp_path / "env", with_pip=False)
    run = tmp_path / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(run), "install", "-q", "--no-deps"]
    subprocess.run([*pip, "--no-index", str(wheel)], check=True, capture_output=True)
    (site,) = (tmp_path / "env" / "lib").glob("*/site-packages")
    # As a path, it brings no .pth files into effect, and so not the checkout.
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    done = subprocess.run(
        [str(run), "-c", _PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (f"{PROJECT['version']} True Hello Ada\n", "")
    command = [str(tmp_path / "env" / "bin" / "holdfast"), "--version"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert shown.stdout == f"holdfast {PROJECT['version']}\n"


def test_the_chart_has_the_version_of_the_package() -> None:
    """pyproject.toml decides; a chart cannot read it."""
    chart = yaml.safe_load((ROOT / "deploy" / "helm" / "holdfast" / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (PROJECT["version"], PROJECT["version"])


def test_the_bill_of_materials_has_everything_that_is_pinned() -> None:
    """Each with a version and digests; what the package needs is marked."""
    bill = runpy.run_path(str(ROOT / "tools" / "sbom.py"))["bill"]()
    json.dumps(bill)
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pinned = [line for line in lines if "==" in line and not line.startswith((" ", "#"))]
    assert len(bill["components"]) == len(pinned)
    parts = {part["name"]: part for part in bill["components"]}
    assert [name for name, part in parts.items() if not part["hashes"]] == []
    scopes = {name: parts[name]["scope"] for name in ("aiohttp", "fastapi", "mypy")}
    assert scopes == {"aiohttp": "required", "fastapi": "optional", "mypy": "excluded"}
    assert bill["metadata"]["component"]["version"] == PROJECT["version"]
