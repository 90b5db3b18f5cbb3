"""What goes wrong is told in one line, with the right exit code, and without secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.testing.servers import start_server
from tests.acceptance.test_cli import SHOP, holdfast, write_shop

UNREACHABLE = "valkey://ada:s3cret@127.0.0.1:1"


def test_an_unreachable_store_is_told_in_one_line_with_4(tmp_path: Path) -> None:
    """The address is shown, the password is not."""
    shown = holdfast("ls", "--store", UNREACHABLE, folder=tmp_path)
    assert (shown.returncode, shown.stdout) == (4, "")
    (line,) = shown.stderr.splitlines()
    assert line.startswith("holdfast: no Valkey server answers at 127.0.0.1:1")
    assert line.endswith("(store_unavailable)")
    assert "s3cret" not in line


def test_with_json_an_error_is_one_object_on_stderr(tmp_path: Path) -> None:
    """A program finds the code and the context."""
    shown = holdfast("show", "x", "--json", folder=tmp_path)
    assert (shown.returncode, shown.stdout) == (4, "")
    error = json.loads(shown.stderr)["error"]
    store = {"store": f"embedded://{tmp_path}/.holdfast"}
    assert (error["code"], error["context"]) == ("store_unavailable", store)


def test_asking_makes_no_store(tmp_path: Path) -> None:
    """A command in the wrong folder says so and leaves nothing behind."""
    shown = holdfast("ls", folder=tmp_path)
    assert shown.returncode == 4
    assert f"there is no store in {tmp_path}/.holdfast" in shown.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_used_is_told_with_4(tmp_path: Path) -> None:
    """Another number of partitions than the store was made with is refused."""
    store = f"embedded://{tmp_path}/data"
    assert holdfast("submit", "greet", "--store", store, folder=tmp_path).returncode == 0
    shown = holdfast("ls", "--store", f"{store}?partitions=4", folder=tmp_path)
    assert shown.returncode == 4
    assert shown.stderr.endswith("(store_incompatible)\n")


def test_a_wrong_password_is_told_with_4_and_not_shown(tmp_path: Path) -> None:
    """The server's refusal is passed on without what was refused."""
    with start_server() as server:
        with server.raw() as raw:
            raw.config_set("requirepass", "right")
        store = f"valkey://:s3cret@127.0.0.1:{server.port}"
        shown = holdfast("ls", "--store", store, folder=tmp_path)
    assert shown.returncode == 4
    assert len(shown.stderr.splitlines()) == 1
    assert "s3cret" not in shown.stderr


def test_an_unknown_execution_is_told_with_3(tmp_path: Path) -> None:
    """The line is the one that docs/cli.md shows."""
    store = f"embedded://{tmp_path}/data"
    assert holdfast("submit", "greet", "--store", store, folder=tmp_path).returncode == 0
    shown = holdfast("explain", "x", "--store", store, folder=tmp_path)
    line = "holdfast: no execution has the id x (execution_not_found)\n"
    assert (shown.returncode, shown.stderr) == (3, line)


@pytest.mark.parametrize(
    ("target", "source", "told"),
    [
        ("nowhere:app", SHOP, "there is no module nowhere in"),
        ("shop:app", "from holdfast import App\napp = App()\n", "shop:app has no tasks"),
        ("shop:app", "def broken(:\n", "shop.py, line 1"),
    ],
)
def test_an_app_that_cannot_be_run_is_told_with_2(
    tmp_path: Path, target: str, source: str, told: str
) -> None:
    """Each mistake has its own line, and no store is made for it."""
    write_shop(tmp_path, source)
    shown = holdfast("worker", target, folder=tmp_path)
    (line,) = shown.stderr.splitlines()
    assert (shown.returncode, told in line) == (2, True), line
    assert not (tmp_path / ".holdfast").exists()


def test_a_failure_in_the_module_shows_its_traceback_when_asked(tmp_path: Path) -> None:
    """HOLDFAST_DEBUG is for the author of the module."""
    write_shop(tmp_path, "1 / 0\n")
    shown = holdfast("worker", "shop:app", folder=tmp_path, HOLDFAST_DEBUG="1")
    assert (shown.returncode, "Traceback" in shown.stderr) == (2, True)
    assert "ZeroDivisionError" in shown.stderr
