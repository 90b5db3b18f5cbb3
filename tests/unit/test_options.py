"""The options of an execution are the same in the model, the SDK and the body of a request."""

from __future__ import annotations

import dataclasses

from holdfast.model.executions import NewExecution
from holdfast.server.views.bodies import ExecutionBody
from holdfast.worker.task import TaskFields, TaskOptions

#: Options of a task that have another name or unit in the model.
NAMES = {
    "timeout": "attempt_timeout_ms",
    "deadline": "deadline_ms",
    "delay": "delay_ms",
    "retention": "retention_ms",
    "retries": "retry",
}
#: What the engine fills in, never the caller.
INTERNAL = {"unset", "said"}
#: What a task decides by being called, or by its hints.
OF_A_CALL = {"kind", "input", "max_replays", "traceparent", "check"}


def _fields(cls: type) -> set[str]:
    return {field.name for field in dataclasses.fields(cls)}


def test_a_body_has_every_field_of_an_execution() -> None:
    """An option that is added to the model needs a place in the HTTP API."""
    body = set(ExecutionBody.__struct_fields__) - {"input_base64"}
    assert body == _fields(NewExecution) - INTERNAL


def test_a_task_has_every_option_of_an_execution() -> None:
    """An option that is added to the model needs a place in the SDK."""
    options = {NAMES.get(name, name) for name in _fields(TaskOptions)}
    assert options == _fields(NewExecution) - INTERNAL - OF_A_CALL


def test_the_typed_options_are_those_of_a_task() -> None:
    """What `with_options` takes is what there is."""
    assert set(TaskFields.__annotations__) == _fields(TaskOptions)
