"""`holdfast endpoints`: secrets come from files or stdin, and never out again."""

from __future__ import annotations

from pathlib import Path

from holdfast.engine import open_engine
from holdfast.model.endpoints import EndpointRef
from tests.acceptance.test_cli import asked, done, holdfast

VALUE = "xoxb-that-nobody-reads"
PUT = ("endpoints", "put", "support", "--provider", "slack", "--conversation", "support")


async def test_endpoints_from_the_command_line(tmp_path: Path) -> None:
    """Put, change, list, show, remove; what is missing or wrong is named."""
    (tmp_path / "token").write_text(f"{VALUE}\n")
    missing = holdfast(*PUT, "--secret", "bot_token=@token", folder=tmp_path)
    assert missing.returncode != 0
    assert "slack needs signing_secret" in missing.stderr
    secrets = ("--secret", "bot_token=@token", "--secret", "signing_secret=@-")
    said = done(*PUT, *secrets, folder=tmp_path, stdin="from stdin\n")
    assert "/ingress/local/support" in said
    options = ("--set", "api=https://slack.example", "--rate", "7")
    found = asked(*PUT, *options, folder=tmp_path)
    assert (found["settings"], found["rate"]) == ({"api": "https://slack.example"}, 7)
    said += done("endpoints", "ls", folder=tmp_path) + done(
        "endpoints", "show", "support", folder=tmp_path
    )
    assert "bot_token, signing_secret" in said
    assert VALUE not in said
    async with open_engine(f"embedded://{tmp_path}/.holdfast", maintenance=False) as engine:
        opened = await engine.endpoints.open(EndpointRef(id="support"))
        assert opened.channel.secrets == {"bot_token": VALUE, "signing_secret": "from stdin"}
    shown = holdfast(*PUT, "--secret", f"bot_token={VALUE}", folder=tmp_path)
    assert shown.returncode != 0
    assert "NAME=@FILE" in shown.stderr
    done("endpoints", "rm", "support", folder=tmp_path)
