"""`holdfast secrets`: values come from stdin, a file or a prompt, and never out again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer

from holdfast.cli import secrets
from holdfast.engine import open_engine
from tests.acceptance.test_cli import asked, done, holdfast

VALUE = "pa55word-that-nobody-reads"


async def test_secrets_from_the_command_line(tmp_path: Path) -> None:
    """Set from stdin and from a file; list; rotate; remove. No output has a value."""
    said = done("secrets", "set", "one", folder=tmp_path, stdin=f"{VALUE}\n")
    (tmp_path / "value").write_text(f"{VALUE}\n2")
    options = ("--tenant", "acme", "--env", "prod")
    said += done("secrets", "set", "two", "--from-file", "value", *options, folder=tmp_path)
    kid = asked("secrets", "rotate", folder=tmp_path)["kid"]
    listed = asked("secrets", "ls", folder=tmp_path)["items"]
    assert [secret["name"] for secret in listed] == ["one"]
    assert kid not in {secret["kid"] for secret in listed}
    assert VALUE not in said + str(listed)
    async with open_engine(f"embedded://{tmp_path}/.holdfast", maintenance=False) as engine:
        assert await engine.secrets.reveal("one") == VALUE
        assert await engine.secrets.reveal("two", tenant="acme", env="prod") == f"{VALUE}\n2"
        (secret,) = await engine.secrets.list()
        assert secret.kid == kid
    done("secrets", "rm", "one", folder=tmp_path)
    shown = holdfast("secrets", "set", "four", VALUE, folder=tmp_path, stdin="x")
    assert shown.returncode == 2
    shown = holdfast("secrets", "set", "four", folder=tmp_path, stdin="")
    assert shown.returncode != 0
    assert "value" in shown.stderr


def test_at_a_terminal_the_value_is_typed_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The prompt shows nothing, and asks twice."""
    asked_for: dict[str, object] = {}

    def prompt(text: str, **options: object) -> str:
        asked_for.update(options, text=text)
        return VALUE

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(typer, "prompt", prompt)
    assert secrets._value(None) == VALUE
    assert asked_for["hide_input"] is asked_for["confirmation_prompt"] is True
