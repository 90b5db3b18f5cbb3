"""`holdfast endpoints` and `holdfast dead-replies`."""

from __future__ import annotations

from pathlib import Path

from holdfast.engine import open_engine
from holdfast.model.endpoints import EndpointRef
from tests.acceptance.test_cli import asked, done, holdfast
from tests.server.test_dead_replies import bury

VALUE = "xoxb-that-nobody-reads"
PUT = ("endpoints", "put", "support", "--provider", "slack", "--conversation", "support")


async def test_endpoints_from_the_command_line(tmp_path: Path) -> None:
    """Put, change, list, show, remove; secrets come from files or stdin, and never out again."""
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


async def test_dead_replies_from_the_command_line(tmp_path: Path) -> None:
    """They are listed with the reason, and sent again: those of an endpoint, or all."""
    async with open_engine(f"embedded://{tmp_path}/.holdfast", maintenance=False) as engine:
        assert "no dead replies" in done("dead-replies", folder=tmp_path)
        session = await bury(engine, "default", "the channel is archived", "again")
        endpoint = (await engine.sessions.get(session)).key.endpoint
        page = asked("dead-replies", "ls", "-n", "1", folder=tmp_path)
        assert (page["items"][0]["session"], page["items"][0]["number"]) == (session, 3)
        shown = done("dead-replies", "ls", "--cursor", page["next_cursor"], folder=tmp_path)
        assert "the channel is archived" in shown
        other = asked("dead-replies", "resend", "--endpoint", "other", folder=tmp_path)
        assert other == {"resent": 0}
        sent = asked("dead-replies", "resend", "--endpoint", endpoint, folder=tmp_path)
        assert sent == {"resent": 2}
        lines = (await engine.sessions.transcript(session)).entries
        assert [one.delivery for one in lines if one.direction == "out"] == ["pending"] * 2
