"""`holdfast backup` and `holdfast restore`: a store moves to another folder."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.model.codec import KEYS_VARIABLE, new_key
from tests.acceptance.test_cli import holdfast


def run(folder: Path, *args: str, keys: str = "") -> tuple[int, Any]:
    """Run a command; returns its exit code and its answer, or what it says instead."""
    shown = holdfast(*args, "--json", folder=folder, **{KEYS_VARIABLE: keys})
    return shown.returncode, json.loads(shown.stdout) if shown.stdout else shown.stderr


def test_a_store_moves_to_another_folder(tmp_path: Path) -> None:
    """Sealed, and only into an empty store unless it is forced."""
    one, two, place = (str(tmp_path / name) for name in ("one", "two", "backups"))
    keys = new_key("k1")
    code, submitted = run(tmp_path, "submit", "work", "--store", f"embedded://{one}")
    assert code == 0
    call: tuple[str, ...] = ("backup", place, "--encrypt", "--store", f"embedded://{one}")
    code, made = run(tmp_path, *call, keys=keys)
    assert (code, made["kid"], made["counts"]) == (0, "k1", {"executions": 1})
    assert run(tmp_path, *call)[0] != 0
    call = ("restore", place, "--store", f"embedded://{two}")
    assert run(tmp_path, *call)[0] != 0
    code, restored = run(tmp_path, *call, "--force", keys=keys)
    assert (code, restored["name"]) == (0, made["name"])
    code, found = run(tmp_path, "verify", "--store", f"embedded://{two}")
    assert (code, found["sound"]) == (0, True)
    code, shown = run(tmp_path, "show", submitted["id"], "--store", f"embedded://{two}")
    assert (code, submitted["id"] in json.dumps(shown)) == (0, True)
    assert run(tmp_path, *call, keys=keys)[0] != 0
    call = ("restore", place, "--force", "--store", f"embedded://{two}")
    told = holdfast(*call, folder=tmp_path, **{KEYS_VARIABLE: keys}).stdout
    assert told.endswith(" bytes (1 execution)\n")


def test_a_store_goes_back_to_a_time(tmp_path: Path) -> None:
    """Into a new folder, and only an embedded one."""
    one, two = (str(tmp_path / name) for name in ("one", "two"))
    code, submitted = run(tmp_path, "submit", "work", "--store", f"embedded://{one}")
    assert code == 0
    at = datetime.now(UTC).isoformat()
    call = ("restore", one, "--at", at, "--store")
    code, made = run(tmp_path, *call, f"embedded://{two}")
    assert (code, made["at"][:19]) == (0, at[:19])
    code, shown = run(tmp_path, "show", submitted["id"], "--store", f"embedded://{two}")
    assert (code, submitted["id"] in json.dumps(shown)) == (0, True)
    for further in (
        (f"embedded://{two}",),
        ("valkey://nowhere",),
        (f"embedded://{two}", "--force"),
    ):
        assert run(tmp_path, *call, *further)[0] != 0
