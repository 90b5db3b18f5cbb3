"""`holdfast backup` and `holdfast restore`: a store moves to another folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.model.codec import KEYS_VARIABLE, new_key
from tests.acceptance.test_cli import holdfast


def run(folder: Path, *args: str) -> tuple[int, Any]:
    shown = holdfast(*args, "--json", folder=folder)
    return shown.returncode, json.loads(shown.stdout) if shown.stdout else shown.stderr


def test_a_store_moves_to_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sealed, and only into an empty store unless it is forced."""
    monkeypatch.setenv(KEYS_VARIABLE, new_key("k1"))
    one, two, place = (
        f"embedded://{tmp_path}/one",
        f"embedded://{tmp_path}/two",
        str(tmp_path / "b"),
    )
    code, submitted = run(tmp_path, "submit", "work", "--store", one)
    assert code == 0
    code, made = run(tmp_path, "backup", place, "--encrypt", "--store", one)
    assert (code, made["kid"], made["counts"]) == (0, "k1", {"executions": 1})
    code, restored = run(tmp_path, "restore", place, "--store", two)
    assert (code, restored["name"]) == (0, made["name"])
    code, shown = run(tmp_path, "show", submitted["id"], "--store", two)
    assert (code, shown["id"]) == (0, submitted["id"])
    code, found = run(tmp_path, "verify", "--store", two)
    assert (code, found["sound"]) == (0, True)
    code, _ = run(tmp_path, "restore", place, "--store", two)
    assert code != 0
    code, _ = run(tmp_path, "restore", place, "--name", made["name"], "--force", "--store", two)
    assert code == 0
    monkeypatch.delenv(KEYS_VARIABLE)
    code, _ = run(tmp_path, "backup", place, "--encrypt", "--store", one)
    assert code != 0
