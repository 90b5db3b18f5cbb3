"""Tests of a pack as values: what users say, what they expect, and what is faked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from holdfast.host.flows.model import NodeKind
from holdfast.host.yaml_source import Position

DEFAULT_USER = "user"

#: Kinds of nodes that reach out of the flow, and so can be faked.
FAKED = (NodeKind.CALL, NodeKind.LLM, NodeKind.HTTP, NodeKind.PROVIDER)


class Status(StrEnum):
    """What a flow does now."""

    #: It waits for a message.
    WAITING = "waiting"
    #: It waits for a person's decision.
    APPROVAL = "approval"
    ENDED = "ended"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a node calls: an operation, a model, a web address."""

    kind: NodeKind
    #: COMPONENT.OPERATION, MODEL, METHOD URL or PROVIDER.OPERATION.
    name: str
    #: What the input must contain; None fits every input.
    given: Any = None

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How a faked call fails."""

    code: str
    message: str
    retryable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fake:
    """An answer in place of a component, a model, a web server or a provider."""

    target: Target
    returns: Any = None
    fails: Failure | None = None
    #: How many calls it answers; None: all.
    times: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A reply that is expected; every part that is given must fit."""

    text: str | None = None
    contains: str | None = None
    matches: re.Pattern[str] | None = None
    #: Parts of the reply that must be in it: `card`, `data`, `buttons`.
    parts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """A message of a user: a text, a pressed button, a form, or an event."""

    user: str
    text: str | None = None
    click: str | None = None
    form: Any = None
    event: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Run a flow without a conversation."""

    given: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """The replies that came since the last step like this."""

    user: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """Let time pass."""

    ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide:
    """A person's decision at an approval."""

    user: str
    node: str
    approves: bool
    by: str = ""
    data: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Add:
    """Fakes that answer from here on, before those that there are."""

    fakes: tuple[Fake, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """How often something was called so far."""

    target: Target
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The flow has ended with this result."""

    user: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class IsStatus:
    """What the flow does now."""

    user: str
    status: Status


@dataclass(frozen=True, slots=True, kw_only=True)
class HasState:
    """Values of the session's state."""

    user: str
    values: Mapping[str, Any]


Action: TypeAlias = (
    Say | Run | Expect | Advance | Decide | Add | Called | Result | IsStatus | HasState
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of a test and where it is."""

    action: Action
    position: Position


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """A scripted conversation."""

    __test__ = False

    file: str
    name: str
    #: The flow to start; None: the pack's entry.
    flow: str | None
    fakes: tuple[Fake, ...]
    steps: tuple[Step, ...]
    position: Position

    @property
    def id(self) -> str:
        """Its name, with the file that it is in."""
        return f"{self.file}::{self.name}"

    @property
    def moves_time(self) -> bool:
        """Whether it needs a clock that can be set."""
        return any(isinstance(step.action, Advance) for step in self.steps)
