"""`holdfast submit`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli import result
from holdfast.cli.terminal import inputs, opening, output
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.cli.terminal.spinner import wait_for_end
from holdfast.errors import InvalidInput
from holdfast.model.quotas import Window
from holdfast.model.retry import Backoff, RetryPolicy

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.model.executions import Outcome, Submitted

#: Like that of tasks: with jitter, so that executions that fail together do not retry together.
_BACKOFF = Backoff(jitter=0.2)


_THE_TASKS = "the task's, or 0"
_IF_ANY = "the task's, if any"

#: Writes a note for people.
Note = Callable[[str], None]

Kind = Annotated[str, typer.Argument(metavar="KIND", help="The name of the task.")]
Input = Annotated[
    str,
    typer.Option(
        "--input", "-i", metavar="JSON", help="The arguments as JSON, @FILE or - (stdin)."
    ),
]
Raw = Annotated[bool, typer.Option("--raw", help="Accept any bytes as the input, not only JSON.")]
WaitOption = Annotated[bool, typer.Option("--wait", "-w", help="Wait for the result and print it.")]
Lane = Annotated[
    str | None,
    typer.Option("--lane", help="The lane to run on.", show_default="the task's, or default"),
]
Tenant = Annotated[str, typer.Option("--tenant", help="The tenant that owns it.")]
Priority = Annotated[
    int | None,
    typer.Option("--priority", help="-1000 to 1000; higher is sooner.", show_default=_THE_TASKS),
]
Delay = Annotated[str | None, typer.Option("--delay", help="Start later: 30, 10m, 2h.")]
Deadline = Annotated[
    str | None,
    typer.Option("--deadline", help="It expires after this long.", show_default=_IF_ANY),
]
Timeout = Annotated[
    str | None,
    typer.Option("--timeout", help="Stop an attempt after this long.", show_default=_IF_ANY),
]
Retention = Annotated[
    str | None,
    typer.Option(
        "--retention",
        help="How long to keep it after its end.",
        show_default="the task's, or as configured",
    ),
]
OnEnd = Annotated[
    str | None,
    typer.Option(
        "--on-end", metavar="URL", help="A webhook to call when it has ended.", show_default=_IF_ANY
    ),
]
MaxReclaims = Annotated[
    int | None,
    typer.Option(
        "--max-reclaims",
        min=0,
        help="How many lost workers it survives.",
        show_default="the task's, or 20",
    ),
]
NoCheck = Annotated[
    bool, typer.Option("--no-check", help="Do not check the input against the task.")
]
Retries = Annotated[
    int | None,
    typer.Option(
        "--retries", min=0, help="The number of retries after a failure.", show_default=_THE_TASKS
    ),
]
Key = Annotated[str | None, typer.Option("--key", help="Idempotency key: submits once.")]
Id = Annotated[str | None, typer.Option("--id", help="The id of the execution.")]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", metavar="NAME=VALUE", help="A tag; repeatable.")
]
Requires = Annotated[
    list[str] | None,
    typer.Option(
        "--requires", metavar="NAME", help="A capability that the worker must have; repeatable."
    ),
]
Budgets = Annotated[
    list[str] | None, typer.Option("--budget", metavar="ID", help="A budget to charge; repeatable.")
]
Quotas = Annotated[
    list[str] | None,
    typer.Option("--quota", metavar="ID", help="A quota that must admit it; repeatable."),
]
Debounce = Annotated[
    str | None,
    typer.Option("--debounce", metavar="KEY=TIME", help="Run the last submission with this key."),
]
Throttle = Annotated[
    str | None,
    typer.Option("--throttle", metavar="KEY=TIME", help="Run the first submission with this key."),
]


def submit(
    kind: Kind,
    *,
    data: Input = "null",
    raw: Raw = False,
    wait: WaitOption = False,
    lane: Lane = None,
    tenant: Tenant = "default",
    priority: Priority = None,
    delay: Delay = None,
    deadline: Deadline = None,
    timeout: Timeout = None,
    retention: Retention = None,
    on_end: OnEnd = None,
    retries: Retries = None,
    max_reclaims: MaxReclaims = None,
    key: Key = None,
    execution_id: Id = None,
    tag: Tags = None,
    requires: Requires = None,
    budget: Budgets = None,
    quota: Quotas = None,
    debounce: Debounce = None,
    throttle: Throttle = None,
    no_check: NoCheck = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Submit an execution of a task. Prints its id, or its result with --wait.

    Options that you omit come from the task's declaration, if a worker has published it.
    """
    given: dict[str, Any] = {
        "input": inputs.payload(data, raw=raw),
        "check": not no_check,
        "lane": lane,
        "tenant": tenant,
        "priority": priority,
        "retry": _policy(retries),
        "max_reclaims": max_reclaims,
        "on_end": on_end,
        "idempotency_key": key,
        "id": execution_id,
        **_lists(tag, requires),
        **_times(delay=delay, deadline=deadline, attempt_timeout=timeout, retention=retention),
        **_limits(budget, quota, debounce, throttle),
    }
    note = output.nothing if as_json else output.note
    work = functools.partial(_work, kind=kind, fields=_stated(given), note=note, wait=wait)
    _show(*opening.ask(store, work, create=True, maintenance=wait), as_json=as_json)


def _show(submitted: Submitted, outcome: Outcome | None, *, as_json: bool) -> None:
    if outcome is not None:
        result.show(outcome, as_json=as_json)
    elif as_json:
        output.emit(submitted)
    else:
        output.say(submitted.id)


def _stated(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def _lists(tags: list[str] | None, requires: list[str] | None) -> dict[str, Any]:
    return {
        "tags": inputs.pairs("tag", tags) if tags else None,
        "requires": inputs.names(requires) if requires else None,
    }


def _policy(retries: int | None) -> RetryPolicy | None:
    return None if retries is None else RetryPolicy(max_attempts=retries + 1, backoff=_BACKOFF)


def _times(**given: str | None) -> dict[str, int | None]:
    return {
        f"{name}_ms": inputs.optional_ms(name.removeprefix("attempt_"), text)
        for name, text in given.items()
    }


def _limits(
    budget: list[str] | None, quota: list[str] | None, debounce: str | None, throttle: str | None
) -> dict[str, Any]:
    return {
        "budgets": inputs.names(budget) if budget else None,
        "quotas": inputs.names(quota) if quota else None,
        "debounce": _window("debounce", debounce),
        "throttle": _window("throttle", throttle),
    }


def _window(field: str, text: str | None) -> Window | None:
    if text is None:
        return None
    key, equals, time = text.rpartition("=")
    if not equals:
        raise InvalidInput(f"{field}: must be KEY=TIME, such as {text}=10s", field=field)
    return Window(key, inputs.duration_ms(field, time))


async def _work(
    engine: Engine, kind: str, fields: dict[str, Any], note: Note, *, wait: bool
) -> tuple[Submitted, Outcome | None]:
    submitted = await _submit(engine, kind, fields, note)
    if not wait:
        return submitted, None
    note(f"submitted {submitted.id}")
    return submitted, await wait_for_end(engine, submitted.id, None)


async def _submit(engine: Engine, kind: str, fields: dict[str, Any], note: Note) -> Submitted:
    """Submit; note if no worker has published the task, because its name may be mistyped."""
    if note is not output.nothing:
        published = await engine.tasks.list(tenant=fields["tenant"])
        if kind not in published and published:
            known = ", ".join(sorted(published))
            note(f"note: no worker has published a task {kind!r}; known tasks: {known}")
    return await engine.submit(kind, **fields)
