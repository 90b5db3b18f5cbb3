"""The app: its store, its tasks, its settings."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import App, WorkerSettings
from holdfast.errors import HoldfastError, InvalidInput, TaskNotFound
from holdfast.model import checks
from holdfast.worker.app import DEFAULT_STORE
from holdfast.worker.worker import Worker, _lanes_of


def test_the_store_is_the_argument_the_environment_or_embedded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In this order; an empty variable is none."""
    monkeypatch.delenv("HOLDFAST_STORE", raising=False)
    assert App().store == DEFAULT_STORE
    monkeypatch.setenv("HOLDFAST_STORE", "")
    assert App().store == DEFAULT_STORE
    monkeypatch.setenv("HOLDFAST_STORE", "valkey://example:1")
    assert App().store == "valkey://example:1"
    assert App("valkey://other:2").store == "valkey://other:2"


def test_two_tasks_cannot_have_one_name() -> None:
    """The second would take the work of the first."""
    app = App()

    @app.task
    def work() -> None: ...

    with pytest.raises(HoldfastError, match="two tasks are called 'work'") as twice:
        app.task(name="work")(lambda: None)
    assert twice.value.context == {"name": "work"}
    assert app.find("work") is work


def test_a_task_is_found_by_name() -> None:
    """The error lists the tasks there are."""
    app = App()
    with pytest.raises(TaskNotFound, match="no task 'a'; it has: none"):
        app.find("a")
    app.task(name="c")(lambda: None)
    app.task(name="b")(lambda: None)
    assert app.find("c").name == "c"
    with pytest.raises(TaskNotFound, match="no task 'a'; it has: b, c"):
        app.find("a")


def test_an_app_that_is_not_open_has_no_engine() -> None:
    """The message says how to open it."""
    with pytest.raises(HoldfastError, match="async with app"):
        _ = App().engine


async def test_a_url_that_cannot_be_opened_leaves_the_app_closed() -> None:
    """And it can be tried again."""
    app = App("nonsense://x")
    for _ in range(2):
        with pytest.raises(InvalidInput):
            async with app:
                pass
    with pytest.raises(HoldfastError, match="not open"):
        _ = app.engine


def test_hooks_are_registered_and_stay_plain_functions() -> None:
    """Each decorator returns what it got."""
    app = App()

    def hook(*_: Any) -> None: ...

    assert app.before(hook) is app.after(hook) is app.on_error(hook) is hook
    assert app.before_hooks == app.after_hooks == app.error_hooks == [hook]


def test_a_worker_serves_the_lanes_of_its_tasks() -> None:
    """Or the default lane, if there are no tasks."""
    app = App()
    assert _lanes_of(app) == ("default",)
    app.task(name="a", lane="mail")(lambda: None)
    app.task(name="b", lane="cpu")(lambda: None)
    app.task(name="c", lane="mail")(lambda: None)
    assert _lanes_of(app) == ("cpu", "mail")


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"slots": 0}, "slots"),
        ({"slots": 1.0}, "slots"),
        ({"threads": 0}, "threads"),
        ({"processes": 0}, "processes"),
        ({"lease_ms": 999}, "lease_ms"),
        ({"lanes": ("a b",)}, r"lanes\[0\]"),
        ({"lanes": "mail"}, "lanes"),
        ({"capabilities": ("",)}, r"capabilities\[0\]"),
        ({"name": ""}, "name"),
        ({"name": "a b"}, "name"),
    ],
)
def test_wrong_worker_settings_are_refused_by_field(settings: dict[str, Any], field: str) -> None:
    """Before the worker starts."""
    with pytest.raises(InvalidInput, match=rf"^{field}: "):
        WorkerSettings(**settings)


def test_a_long_pool_name_still_gives_a_valid_instance() -> None:
    """Host and process are added to it, and the whole is a name with a limit."""
    app = App().attach(object())  # type: ignore[arg-type]
    worker = Worker(app, WorkerSettings(name="w" * 128))
    assert checks.name("instance", worker.instance)
