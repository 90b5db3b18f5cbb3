"""Tasks that wait for people, near the store and far from it: the same calls over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from holdfast import App, Context, Denied, Handle, NotApproved, WaitTimedOut
from holdfast.errors import (
    InvalidPayload,
    InvalidToken,
    SignalNotAllowed,
    TaskError,
    WaitpointClosed,
)
from holdfast.model.listing import Filter
from holdfast.model.states import State
from holdfast.model.waitpoints import Effect, NewSignal, Source, Waitpoint, WaitpointState
from holdfast.testing.polling import wait_for
from tests.integration.worker.conftest import Working, at_once

ALSO_OVER_HTTP = True


class Decision(BaseModel):
    """What is decided."""

    amount: int


async def until_it_waits(handle: Handle[Any]) -> Waitpoint:
    """Wait until an execution is suspended; returns its open waitpoint."""

    async def is_suspended() -> bool:
        return await handle.state() is State.SUSPENDED

    await wait_for(is_suspended)
    (point,) = [one for one in await handle.waitpoints() if one.state is WaitpointState.OPEN]
    return point


async def test_an_answer_arrives_typed(app: App, working: Working) -> None:
    """It is checked where it is sent; the attempt goes on."""

    @app.task
    async def ask(ctx: Context) -> int:
        return (await ctx.wait_for("much", schema=Decision)).amount

    async with working():
        handle = await ask.submit()
        point = await until_it_waits(handle)
        assert point.token is None
        with pytest.raises(InvalidPayload, match="amount"):
            await handle.signal("much", {"amount": "a lot"})
        assert await handle.signal("much", {"amount": 40}) is Effect.RESUMED
        assert await handle.result(timeout=10) == 40
    assert (await handle.describe()).attempts == 1
    (signal,) = await app.engine.waitpoints.signals(handle.id)
    assert (signal.value, signal.effect) == ({"amount": 40}, Effect.RESUMED)


async def test_a_token_is_sent_out_and_known_to_later_attempts(app: App, working: Working) -> None:
    """The same right, whoever runs the attempt; the journal does not have it."""
    tokens: list[str] = []

    @app.task(retries=at_once(2))
    async def ask(ctx: Context) -> str:
        point = await ctx.waitpoint("mail", schema=str, signals=["answer"])
        tokens.append(point.token.reveal())
        assert point.link("https://x.example").endswith(f"{point.id}#{tokens[-1]}")
        made = getattr(app.engine.waitpoints, "_made", {})
        made.clear()
        if len(tokens) == 1:
            raise ValueError("once more")
        return str(await ctx.wait_for(point))

    async with working():
        handle = await ask.submit()
        point = await until_it_waits(handle)
        assert len(set(tokens)) == 1
        signal = NewSignal(waitpoint=point.id, name="answer", payload=b'"yes"')
        with pytest.raises(InvalidToken):
            await app.engine.waitpoints.signal(signal, tokens[0][:-2] + "AA")
        assert await app.engine.waitpoints.signal(signal, tokens[0]) is Effect.RESUMED
        assert await handle.result(timeout=10) == "yes"
    assert tokens[0] not in repr(await app.engine.steps(handle.id))
    with pytest.raises(WaitpointClosed):
        await app.engine.waitpoints.token(point.id, reader="me")


async def test_people_approve_and_deny(app: App, working: Working) -> None:
    """Two different ones, or one who denies; many signals in one call."""

    @app.task
    async def ask(ctx: Context) -> str:
        try:
            await ctx.wait_for("ok", approvers=2)
        except Denied as denied:
            return f"denied by {denied.source.identity}"
        return "approved"

    def by(point: Waitpoint, name: str, identity: str) -> tuple[NewSignal, None]:
        source = Source(type="user", identity=identity)
        return NewSignal(waitpoint=point.id, name=name, source=source), None

    async with working():
        first, second = await ask.submit(), await ask.submit()
        one, two = await until_it_waits(first), await until_it_waits(second)
        inbox = await app.engine.waitpoints.inbox()
        assert {item.waitpoint.id for item in inbox.items} == {one.id, two.id}
        effects = await app.engine.waitpoints.signal_many(
            [by(one, "approve", "ann"), by(one, "approve", "ann"), by(two, "deny", "ben")]
        )
        assert effects == [Effect.APPENDED, Effect.DUPLICATE, Effect.RESUMED]
        await app.engine.waitpoints.signal(*by(one, "approve", "cid"))
        assert await first.result(timeout=10) == "approved"
        assert await second.result(timeout=10) == "denied by ben"


async def test_time_and_operators_end_waits(app: App, working: Working) -> None:
    """A timeout is raised in the task; an operator's resume is an answer, but no approval."""

    @app.task
    async def ask(ctx: Context) -> Any:
        try:
            await ctx.wait_for("never", timeout=0.05)
        except WaitTimedOut:
            answer = await ctx.wait_for("operator")
        try:
            await ctx.wait_for("people", approvers=["ann", "ben"])
        except NotApproved as error:
            return answer, error.source.identity

    async with working():
        handle = await ask.submit()

        async def waits_for_the_operator() -> bool:
            points = await handle.waitpoints()
            return any(one.name == "operator" for one in points)

        await wait_for(waits_for_the_operator)
        point = await until_it_waits(handle)
        assert await app.engine.waitpoints.revoke(point.id) == "revoked"
        assert await app.engine.waitpoints.resume(handle.id, b'"go"') is State.WAITING

        async def waits_for_people() -> bool:
            points = await handle.waitpoints()
            return any(one.name == "people" for one in points)

        await wait_for(waits_for_people)
        await app.engine.waitpoints.resume(handle.id, identity="ops")
        answer, by = await handle.result(timeout=10)
        assert (answer, bool(by)) == ("go", True)


async def test_signing_keys_are_rotated(app: App) -> None:
    """The ring is shown without its secrets."""
    before = (await app.engine.keyring.ring()).current
    assert await app.engine.keyring.rotate("k2") == ("k2", before)
    ring = await app.engine.keyring.ring()
    assert (ring.current, ring.previous) == ("k2", before)
    assert len({key.fingerprint() for key in ring.keys.values()}) == 2


async def test_named_people_approve_with_their_own_tokens(app: App, working: Working) -> None:
    """Each link is one person's, in every attempt; a token of the pair twice is one approval."""
    links: list[dict[str, str]] = []

    @app.task(retries=at_once(2))
    async def ask(ctx: Context) -> int:
        point = await ctx.waitpoint("release", approvers=["ann", "ben", "cid"])
        links.append(point.links("https://x.example"))
        with pytest.raises(TaskError, match="by person"):
            point.link("https://x.example")
        getattr(app.engine.waitpoints, "_made", {}).clear()
        if len(links) == 1:
            raise ValueError("once more")
        return len(await ctx.wait_for(point, need=2))

    async with working():
        handle = await ask.submit()
        point = await until_it_waits(handle)
        assert links[0] == links[1]
        assert (sorted(links[0]), point.personal) == (["ann", "ben", "cid"], True)
        tokens = {person: link.partition("#")[2] for person, link in links[0].items()}
        signal = NewSignal(waitpoint=point.id, name="approve")
        signals = app.engine.waitpoints
        with pytest.raises(SignalNotAllowed):
            await signals.signal(signal)
        assert await signals.signal(signal, tokens["ann"]) is Effect.APPENDED
        assert await signals.signal(signal, tokens["ann"]) is Effect.DUPLICATE
        assert (await signals.read(point.id, tokens["ben"])).came == ("ann",)
        assert await signals.signal(signal, tokens["ben"]) is Effect.RESUMED
        assert await handle.result(timeout=10) == 2
    assert tokens["ann"] not in repr(await app.engine.steps(handle.id))


async def test_ends_are_announced_wherever_the_webhook_is_given(app: App, working: Working) -> None:
    """By the task, by a submission and by a graph, near and over HTTP; replies do not show it."""

    @app.task(on_end="https://localhost/")
    async def work(ctx: Context) -> None:
        del ctx

    async with working():
        plain, other = await work.submit(), await work.options(on_end=None).submit()
        async with app.graph(on_end="https://localhost/") as graph:
            node = graph.add(work.options(on_end=None))
        for handle in (plain, other, node.handle):
            await handle.result(timeout=10)

        async def deliveries() -> set[str]:
            page = await app.engine.list(Filter(kind="holdfast.webhook"))
            return {item.id.partition("~~")[0] for item in page.items}

        async def are_two() -> bool:
            return len(await deliveries()) == 2

        await wait_for(are_two)
        assert await deliveries() == {plain.id, graph.id}
        assert "localhost" not in repr(await app.engine.describe(plain.id))
