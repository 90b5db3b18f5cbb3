"""Effects: actions of a consumer that happen together with its ack."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.model import checks
from holdfast.model.executions import NewExecution
from holdfast.model.messages import NewMessage


@dataclass(frozen=True, slots=True)
class Push:
    """Push a message to a queue. A full queue accepts it, and its id is not remembered."""

    queue: str
    message: NewMessage

    def __post_init__(self) -> None:
        checks.queue("queue", self.queue)
        checks.instance("message", self.message, NewMessage)


@dataclass(frozen=True, slots=True)
class Submit:
    """Submit an execution."""

    execution: NewExecution

    def __post_init__(self) -> None:
        checks.instance("execution", self.execution, NewExecution)


Effect = Push | Submit
