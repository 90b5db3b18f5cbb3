"""Overdue drains: conversations continue elsewhere if what is left is the same, or start again."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from holdfast.engine import Engine, open_engine
from holdfast.host.builder import HostBuilder
from holdfast.model.activities import NewActivity
from holdfast.model.deployments import RESTART_TEXT
from holdfast.model.revisions import Lifecycle
from holdfast.model.sessions import SessionState, TurnAnswer
from tests.support.hosting import SHOP, reached, shift, shop, stage

#: The greeting is of the revision; what follows the wait is the same in all.
SAME_REST = """\
id: main
vars: {{color: {{default: none}}}}
nodes:
  hello: {{emit: {{text: "{word}: color?"}}, out: color}}
  color: {{wait: {{}}, set: {{color: "{{{{ input.text }}}}"}}, out: size}}
  size:
    ask: {{text: "size?", answer: {{type: integer}}, retries: 2}}
    set: {{size: "{{{{ prev }}}}"}}
    out: done
  done: {{emit: {{text: "{{{{ vars.color }}}} {{{{ vars.size }}}}"}}, out: end}}
"""


@pytest.fixture
async def engine(real_url: str) -> AsyncIterator[Engine]:
    """An engine on the real clock, with a host."""
    async with (
        open_engine(real_url) as opened,
        HostBuilder(opened).work(lease_ms=5_000).build().running(),
    ):
        yield opened


async def say(engine: Engine, text: str, user: str = "ann") -> TurnAnswer:
    """Send a message to the deployment."""
    payload = b'{"text": "%s"}' % text.encode()
    return await engine.activities.handle(NewActivity(conversation="c", user=user, payload=payload))


async def words(engine: Engine, text: str, user: str = "ann") -> list[str]:
    """Send a message, and return what was replied."""
    return [reply.text for reply in (await say(engine, text, user)).replies]


async def release(engine: Engine, revision: str, flow: str | None) -> None:
    """Let a revision take all new sessions."""
    pack = shop(revision.upper()) if flow is None else shop(revision.upper(), flow=flow)
    await stage(engine, revision, pack)
    await reached(engine, revision, Lifecycle.READY)
    await shift(engine, revision)


async def overdue(engine: Engine, revision: str = "a") -> None:
    """Drain a revision without any time, and wait for the end of its drain."""
    await engine.deployments.drain(SHOP, revision, deadline_ms=0)
    await reached(engine, revision, Lifecycle.INACTIVE)


async def test_a_conversation_continues_where_what_is_left_is_the_same(engine: Engine) -> None:
    """With its variables and at its node; the greeting, which lies behind it, has changed."""
    await release(engine, "a", SAME_REST)
    assert await words(engine, "hi") == ["A: color?"]
    assert await words(engine, "red") == ["size?"]
    assert len(await words(engine, "huge")) == 1
    await release(engine, "b", SAME_REST)
    await overdue(engine)
    answer = await say(engine, "7")
    assert ([reply.text for reply in answer.replies], answer.revision) == (["red 7"], "b")
    # Nobody heard of it.
    page = await engine.sessions.transcript(answer.session)
    assert [entry.direction for entry in page.entries] == ["in", "out"] * 4


async def test_a_conversation_that_fits_nowhere_starts_again(engine: Engine) -> None:
    """The user reads the text of the deployment."""
    await release(engine, "a", None)
    await release_and_talk(engine, "A: name?", RESTART_TEXT)
    await engine.deployments.warm(SHOP, "a")
    await reached(engine, "a", Lifecycle.READY)
    changed = await engine.deployments.set_restart_text(SHOP, "Once more, please.")
    assert changed.restart_text == "Once more, please."
    await shift(engine, "a")
    assert await words(engine, "hi", "eve") == ["A: name?"]
    await shift(engine, "b")
    await overdue(engine)
    assert (await texts(engine, "eve"))[-1] == "Once more, please."


async def release_and_talk(engine: Engine, question: str, restart: str) -> None:
    """Begin on the old revision, and start again on the new one."""
    answer = await say(engine, "hi")
    assert [reply.text for reply in answer.replies] == [question]
    await release(engine, "b", None)
    await overdue(engine)
    assert await texts(engine, "ann") == ["hi", question, restart]
    assert (await engine.sessions.get(answer.session)).state is SessionState.IDLE
    assert await words(engine, "Ann") == ["B: name?"]


async def texts(engine: Engine, user: str) -> list[str]:
    """What was said in the session of a user."""
    session = NewActivity(conversation="c", user=user, payload=b"{}").to("shop").key.id
    page = await engine.sessions.transcript(session)
    return [entry.text for entry in page.entries]
