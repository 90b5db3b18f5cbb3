"""The command line decrypts where it has the key, and says so where it has not."""

from __future__ import annotations

import json
from pathlib import Path

from tests.acceptance.test_cli import asked, holdfast

SECRET = "zebra crossing the road"  # noqa: S105


def test_a_key_from_the_command_line(tmp_path: Path) -> None:
    """It is made, it seals and opens; without it, commands name it and exit with a code."""
    made = asked("codec", "keygen", "--kid", "k1", folder=tmp_path)
    keys = {"HOLDFAST_CODEC_KEYS": made["key"]}
    assert made["kid"] == "k1"
    submit = ("submit", "mail", "-i", json.dumps({"secret": SECRET}), "--id", "one", "--no-check")
    sent = holdfast(*submit, folder=tmp_path, **keys)
    assert sent.returncode == 0, sent.stderr
    shown = holdfast("show", "one", folder=tmp_path, **keys)
    assert (shown.returncode, SECRET in shown.stdout) == (0, True), shown.stderr
    shown = holdfast("show", "one", "--json", folder=tmp_path)
    assert shown.returncode != 0
    assert json.loads(shown.stderr)["error"]["code"] == "payload_unreadable"
    assert "k1, which is not here: add it to HOLDFAST_CODEC_KEYS" in shown.stderr
    shown = holdfast("doctor", folder=tmp_path)
    assert (shown.returncode, "keys that are not here: k1" in shown.stdout) == (1, True)
    assert holdfast("ls", folder=tmp_path).returncode == 0
    shown = holdfast("ls", folder=tmp_path, HOLDFAST_CODEC_KEYS="k1:hunter2")
    assert (shown.returncode != 0, "hunter2" in shown.stderr) == (True, False)
    files = [path for path in (tmp_path / ".holdfast").rglob("*") if path.is_file()]
    assert files
    assert not any(SECRET.encode() in path.read_bytes() for path in files)
