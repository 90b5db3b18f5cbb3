"""Tasks that wait for people: the kit lets time pass, and answers for them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from holdfast import App, Context, Denied, SyncContext, WaitTimedOut
from holdfast.errors import InvalidInput, InvalidPayload
from holdfast.testing import NotIdle, TestApp, crash_everywhere
from holdfast.testing.plugin import Attach

app = App("embedded://never-opened")
released: list[str] = []


@app.task
async def patient(ctx: Context) -> str:
    try:
        answer = await ctx.wait_for("ok", timeout=60)
    except WaitTimedOut:
        return "nobody answered"
    return f"answered {answer}"


@app.task
async def release(ctx: Context, order: str) -> str:
    """Two people must approve within a day."""
    try:
        await ctx.wait_for("release", approvers=2, timeout=86_400)
    except Denied as denied:
        return f"denied by {denied.source.identity}"
    except WaitTimedOut:
        return "too late"
    await ctx.step("ship", released.append, order)
    return f"shipped {order}"


@app.task
async def launch(ctx: Context) -> int:
    """Two of three people must approve, each with a token of their own."""
    return len(await ctx.wait_for("launch", approvers=["ann", "ben", "cid"], need=2))


@app.task
async def mistaken(ctx: Context, mistake: str) -> None:
    mistakes: dict[str, dict[str, Any]] = {
        "number": {"approvers": 2, "need": 1},
        "nobody": {"need": 1},
        "more": {"approvers": ["ann"], "need": 2},
        "none": {"approvers": []},
        "twice": {"approvers": ["ann", "ann"]},
        "both": {"approvers": ["ann"], "answerers": ["ben"]},
    }
    await ctx.wait_for("launch", **mistakes[mistake])


@app.task
def release_in_thread(ctx: SyncContext) -> str:
    return str(ctx.wait_for("ok", timeout=60))


@app.task
async def interview(ctx: Context) -> list[int]:
    return [await ctx.wait_for("number", schema=int, timeout=60) for _ in range(3)]


@app.task
async def later(ctx: Context) -> str:
    await ctx.wait_until({"any": [{"waitpoint": "now"}, {"after_ms": 3_600_000}]}, "now")
    return "an hour has passed"


@app.task
async def stubborn(ctx: Context) -> str:
    return str(await ctx.wait_for("ok", timeout=60, on_timeout="escalate"))


@app.task
async def parent(ctx: Context) -> str:
    return await ctx.result(await ctx.submit(patient))


@pytest.fixture
async def t(holdfast_app: Attach) -> TestApp:
    """The app of this module; nothing has been released."""
    released.clear()
    return await holdfast_app(app)


async def test_the_timeout_of_a_wait_passes(t: TestApp) -> None:
    """When nothing else is due, the clock moves to the end of the wait."""
    start = t.clock.now
    assert await t.run(patient) == "nobody answered"
    assert t.clock.now - start == timedelta(seconds=60)


async def test_without_advance_a_wait_goes_on(t: TestApp) -> None:
    """The test moves the clock itself."""
    handle = await patient.submit()
    await t.run_until_idle(advance=False)
    assert await handle.state() == "suspended"
    await t.clock.advance(seconds=60)
    await t.run_until_idle(advance=False)
    assert await t.result(handle) == "nobody answered"


async def test_a_condition_of_time_comes_to_hold(t: TestApp) -> None:
    """A wait that only time ends needs no timeout."""
    assert await t.run(later) == "an hour has passed"


async def test_a_wait_that_escalates_stays(t: TestApp) -> None:
    """Its timeout passes once; then it needs an answer, and the error says how to give one."""
    with pytest.raises(NotIdle, match=r"t\.answer\("):
        await t.run(stubborn)


async def test_an_answer_is_given_where_it_is_waited_for(t: TestApp) -> None:
    """At once, so that no time passes."""
    start = t.clock.now
    t.answer("ok", payload=40)
    assert await t.run(patient) == "answered 40"
    assert await t.run(release_in_thread) == "40"
    assert await t.run(parent) == "answered 40"
    assert t.clock.now == start


async def test_two_approvers_answer(t: TestApp) -> None:
    """Each as somebody else; an answer may come later."""
    start = t.clock.now
    t.answer("release", "approve", source="ann")
    t.answer("release", "approve", source="ben", after=3600)
    assert await t.run(release, "order 7") == "shipped order 7"
    assert t.clock.now - start == timedelta(hours=1)


async def test_an_answer_that_comes_after_the_timeout_is_not_given(t: TestApp) -> None:
    """The second approver takes two days; the wait lasts one."""
    t.answer("release", "approve", source="ann")
    t.answer("release", "approve", source="ben", after=timedelta(days=2))
    assert await t.run(release, "order 7") == "too late"


async def test_the_same_person_cannot_approve_twice(t: TestApp) -> None:
    """It is the real engine that counts."""
    for _ in range(2):
        t.answer("release", "approve", source="ann")
    assert await t.run(release, "order 7") == "too late"


async def test_a_denial_is_an_answer(t: TestApp) -> None:
    """With who it was."""
    t.answer("release", "deny", source="ben")
    assert await t.run(release, "order 7") == "denied by ben"


async def test_answers_of_one_name_are_given_in_order(t: TestApp) -> None:
    """One for each wait of a loop, and the same ones to every execution."""
    for number in (1, 2, 3):
        t.answer("number", payload=number)
    assert await t.run(interview) == [1, 2, 3]
    assert await t.run(interview) == [1, 2, 3]


async def test_a_payload_that_does_not_fit_reaches_the_test(t: TestApp) -> None:
    """What the engine refuses is a mistake of the test."""
    t.answer("number", payload="many")
    with pytest.raises(InvalidPayload):
        await t.run(interview)


async def test_crashes_of_a_task_that_waits_for_two_approvers(t: TestApp) -> None:
    """Every run gets the same answers."""
    t.answer("release", "approve", source="ann", after=60)
    t.answer("release", "approve", source="ben", after=3600)
    report = await crash_everywhere(t, release, "order 7")
    assert report.result == "shipped order 7"
    assert [run.killed_after for run in report.runs] == [
        None,
        "step 'wait:release:1' (1 of 3)",
        "step 'ship' (2 of 3)",
        "its last line (3 of 3)",
    ]


async def test_crashes_of_a_task_whose_wait_times_out(t: TestApp) -> None:
    """The timeout passes in every run."""
    report = await crash_everywhere(t, patient)
    assert report.result == "nobody answered"


async def test_crashes_of_a_task_whose_approvers_have_names(t: TestApp) -> None:
    """The kit answers with the token of the source; one person twice is not two."""
    t.answer("launch", "approve", source="ann")
    t.answer("launch", "approve", source="ann")
    t.answer("launch", "approve", source="cid", after=60)
    report = await crash_everywhere(t, launch)
    assert report.result == 2


async def test_need_is_for_people_with_names(t: TestApp) -> None:
    """A number of approvers is the need itself, and nobody can be needed twice."""
    for mistake in ("number", "nobody", "more", "none", "twice", "both"):
        with pytest.raises(InvalidInput):
            await t.call(mistaken, mistake)
