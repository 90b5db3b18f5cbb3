"""Declaring tasks and their options."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast import App, Backoff, Context, RetryPolicy
from holdfast.errors import HoldfastError, InvalidInput
from holdfast.model.executions import NewExecution
from holdfast.worker.task import Task, TaskFields, TaskOptions


@pytest.fixture
def app() -> App:
    return App("embedded://unused")


#: Of what the SDK submits: no option is left to what workers have published.
ALL_SAID: dict[str, Any] = {"check": False, "unset": frozenset()}


def submitted(task: Task[Any, Any, Any], *args: Any) -> NewExecution:
    """What a submission of the task sends."""
    return task._item(args, {})


def test_the_function_stays_callable(app: App) -> None:
    """A test can call it as if it were no task."""

    @app.task
    def double(x: int) -> int:
        """Double it."""
        return 2 * x

    assert double(4) == 8
    assert (double.__name__, double.__doc__) == ("double", "Double it.")
    assert repr(double) == "Task('double')"


async def test_an_async_function_stays_awaitable(app: App) -> None:
    """With the context that the caller gives it, if any."""

    @app.task(retries=1)
    async def double(x: int) -> int:
        return 2 * x

    assert await double(4) == 8


def test_a_task_without_options_is_submitted_with_defaults(app: App) -> None:
    """One attempt, on the default lane, for the default tenant."""

    @app.task
    def work(x: int) -> None: ...

    assert submitted(work, 1) == NewExecution(kind="work", input=b'{"x":1}', **ALL_SAID)


def test_every_option_reaches_the_execution(app: App) -> None:
    """Durations are seconds or timedelta, in ms on the wire."""

    @app.task(
        name="mail.send",
        lane="mail",
        tenant="acme",
        priority=5,
        retries=2,
        timeout=30,
        deadline=timedelta(hours=1),
        requires=["smtp"],
        max_reclaims=3,
        retention=60,
        tags={"team": "a"},
        idempotency_key="once",
        id="x1",
        delay=1.5,
    )
    def send() -> None: ...

    assert send.lane == "mail"
    assert submitted(send) == NewExecution(
        kind="mail.send",
        input=b"{}",
        lane="mail",
        tenant="acme",
        priority=5,
        retry=RetryPolicy(max_attempts=3, backoff=Backoff(jitter=0.2)),
        attempt_timeout_ms=30_000,
        deadline_ms=3_600_000,
        requires=("smtp",),
        max_reclaims=3,
        retention_ms=60_000,
        tags={"team": "a"},
        idempotency_key="once",
        id="x1",
        delay_ms=1_500,
        **ALL_SAID,
    )


def test_task_fields_and_task_options_are_the_same_set() -> None:
    """One is the type of the keyword arguments, the other holds them."""
    assert set(TaskFields.__annotations__) == set(TaskOptions.__dataclass_fields__)


@pytest.mark.parametrize(
    ("retries", "policy"),
    [
        (0, None),
        (1, RetryPolicy(max_attempts=2, backoff=Backoff(jitter=0.2))),
        (RetryPolicy(max_attempts=7, give_up_on=("KeyError",)),) * 2,
    ],
)
def test_retries_are_a_number_or_a_policy(
    retries: int | RetryPolicy, policy: RetryPolicy | None
) -> None:
    """A number counts the tries after the first."""
    assert TaskOptions(retries=retries).policy() == policy


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"retries": -1}, "retries"),
        ({"retries": 1.5}, "retries"),
        ({"retries": True}, "retries"),
        ({"retries": "3"}, "retries"),
        ({"timeout": -1}, "timeout"),
        ({"timeout": "30"}, "timeout"),
        ({"lane": "a b"}, "lane"),
        ({"tenant": ""}, "tenant"),
        ({"priority": 1001}, "priority"),
        ({"requires": ["a b"]}, r"requires\[0\]"),
        ({"requires": "gpu"}, "requires"),
        ({"tags": {"a": 1}}, r"tags\[a\]"),
        ({"delay": 1, "run_at": datetime(2026, 1, 1, tzinfo=UTC)}, "run_at"),
        ({"run_at": datetime(2026, 1, 1)}, "run_at"),  # noqa: DTZ001
        ({"retires": 3}, r"task\.retires"),
        ({"pool": "banana"}, "pool"),
    ],
)
def test_a_wrong_option_is_refused_when_the_task_is_declared(
    app: App, options: dict[str, Any], field: str
) -> None:
    """Not when the first execution is submitted in production."""
    with pytest.raises(InvalidInput, match=rf"^{field}: "):

        @app.task(**options)
        def work() -> None: ...

    assert not app.tasks


@pytest.mark.parametrize("name", ["with space", "x" * 129, "ü"])
def test_a_name_that_cannot_be_a_kind_is_refused(app: App, name: str) -> None:
    """The name is the kind of its executions."""
    with pytest.raises(InvalidInput, match=r"^name: "):
        app.task(name=name)(lambda: None)


def test_a_process_task_cannot_have_a_context(app: App) -> None:
    """The context lives in the worker's process; this is said before anything is submitted."""

    def work(ctx: Context) -> None: ...

    with pytest.raises(InvalidInput, match="process"):
        app.task(pool="process")(work)


def test_a_process_task_cannot_be_async(app: App) -> None:
    """It would silently run in the worker's event loop."""

    async def work() -> None: ...

    with pytest.raises(InvalidInput, match="process"):
        app.task(pool="process")(work)


def test_other_options_make_another_task_of_the_same_name(app: App) -> None:
    """The original stays as it was declared."""

    @app.task(priority=1, lane="a")
    def work() -> None: ...

    urgent = work.options(priority=9, tags={"why": "vip"})
    assert submitted(urgent) == NewExecution(
        kind="work", input=b"{}", lane="a", priority=9, tags={"why": "vip"}, **ALL_SAID
    )
    assert submitted(work).priority == 1
    assert app.tasks == {"work": work}
    assert urgent() is None


def test_an_unknown_option_of_a_submission_is_refused(app: App) -> None:
    """A misspelt one would be forgotten."""

    @app.task
    def work() -> None: ...

    with pytest.raises(InvalidInput, match=r"^options\.lanes: is not a known field"):
        work.options(lanes="a")  # type: ignore[call-arg]
    with pytest.raises(InvalidInput, match=r"^options\.pool: is not a known field"):
        work.options(pool="process")  # type: ignore[call-arg]


def test_a_task_describes_itself_to_tools(app: App) -> None:
    """Schema, lane, documentation."""

    @app.task(lane="mail")
    def send(to: str) -> None:
        """Send a mail."""

    described = send.describe()
    assert described["lane"] == "mail"
    assert described["description"] == "Send a mail."
    assert described["input"]["required"] == ["to"]
    assert described["result"] == {"type": "null"}
    assert described["options"] == {}


def test_a_task_publishes_what_it_declares(app: App) -> None:
    """Also zeros, which are no defaults."""

    @app.task(retries=1, retention=0, max_reclaims=0, timeout=3, budgets=["llm"], quotas=["http"])
    def work() -> None: ...

    assert work.describe()["options"] == {
        "retry": RetryPolicy(max_attempts=2, backoff=Backoff(jitter=0.2)),
        "retention_ms": 0,
        "max_reclaims": 0,
        "attempt_timeout_ms": 3_000,
        "budgets": ("llm",),
        "quotas": ("http",),
    }


def test_submitting_checks_the_arguments_before_the_store(app: App) -> None:
    """The field is named."""

    @app.task
    def send(to: str) -> None: ...

    with pytest.raises(InvalidInput, match=r"^input\.to: "):
        submitted(send, 7)


async def test_submitting_without_an_open_app_says_what_to_do(app: App) -> None:
    """The usual first mistake."""

    @app.task
    def work() -> None: ...

    with pytest.raises(HoldfastError, match="the app is not open: use `async with app:`"):
        await work.submit()
    with pytest.raises(HoldfastError, match="not open"):
        await work.submit_many([{}])
    with pytest.raises(InvalidInput, match=r"^id: "):
        work.handle("not an id")
