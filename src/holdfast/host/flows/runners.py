"""What nodes need of the host: components, web calls, models, providers.

A host gives a runner for each kind that it can run. A flow with a node of another kind is refused
when it is loaded.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from holdfast.host.flows.known import Known
from holdfast.host.flows.model import LLM_ROUNDS, NodeKind
from holdfast.worker.budget import Reserved

#: Shows a part of an answer while it is written.
Show: TypeAlias = Callable[[str], Awaitable[None]]
#: Reserves amounts from a budget, or from all of the execution, for this many ms at the most.
Reserve: TypeAlias = Callable[
    [Mapping[str, int], str | None, int], AbstractAsyncContextManager[Reserved]
]


class NodeFailed(Exception):
    """A node failed. Only a failure that says so is tried again."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool = False,
        retry_after_ms: int = 0,
        details: Any = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable
        self.retry_after_ms = retry_after_ms
        self.details = details

    def as_value(self) -> dict[str, Any]:
        """Return the failure as expressions see it."""
        return {
            "code": self.code,
            "message": str(self),
            "retryable": self.retryable,
            "details": self.details,
        }


def as_failure(error: Exception) -> NodeFailed:
    """Return an error as the failure of a node."""
    if isinstance(error, NodeFailed):
        return error
    return NodeFailed(str(getattr(error, "code", "invalid_input")), str(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """Who calls, and from where."""

    execution: str
    tenant: str
    env: str
    flow: str
    node: str
    #: The same in every attempt at this run of the node, also after a crash.
    idempotency_key: str
    #: How long the call may take.
    timeout_ms: int
    #: Which attempt at this run of the node it is, from 1; a crash does not count.
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentCall:
    """A call of a component's operation."""

    component: str
    operation: str
    input: Any
    about: Invocation


class Answer:
    """An output together with replies, which the flow says when the outcome is recorded."""

    def __init__(self, value: Any, replies: list[Any]) -> None:
        self.value = value
        self.replies = replies


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """The name of a secret that the host puts into a header."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCall:
    """A call of a web server."""

    method: str
    url: str
    headers: Mapping[str, str | Secret]
    json: Any
    has_body: bool
    about: Invocation


async def _show_nobody(text: str) -> None:
    """Show a part of an answer to nobody."""


def _reserve_nothing(
    amounts: Mapping[str, int], budget: str | None, ttl_ms: int
) -> AbstractAsyncContextManager[Reserved]:
    del budget, ttl_ms
    return nullcontext(Reserved(dict(amounts)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """A call of a language model."""

    model: str
    system: str | None
    messages: list[Any]
    tools: tuple[str, ...]
    max_tokens: int
    budget: str | None
    about: Invocation
    #: How often the model may call tools before it answers.
    rounds: int = LLM_ROUNDS
    show: Show = field(default=_show_nobody, repr=False, compare=False)
    reserve: Reserve = field(default=_reserve_nothing, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderCall:
    """A call of a provider's operation."""

    type: str
    operation: str
    input: Any
    about: Invocation


@dataclass(frozen=True, slots=True, kw_only=True)
class Runners:
    """What runs the nodes that reach out of the flow; each returns the node's output as JSON.

    A component that also replies returns an Answer.
    """

    call: Callable[[ComponentCall], Awaitable[Any]] | None = None
    http: Callable[[HttpCall], Awaitable[Any]] | None = None
    llm: Callable[[ModelCall], Awaitable[Any]] | None = None
    provider: Callable[[ProviderCall], Awaitable[Any]] | None = None
    #: Reads names of the tenant's state; those that it lacks are left out.
    state: Callable[[Invocation, Sequence[str]], Awaitable[Mapping[str, Any]]] | None = None
    #: Checks that the pack of a flow may have a URL called; raises NodeFailed.
    reach: Callable[[str, str], object] | None = None

    @property
    def kinds(self) -> frozenset[NodeKind]:
        """The kinds of nodes that can run."""
        optional = {
            NodeKind.CALL: self.call,
            NodeKind.HTTP: self.http,
            NodeKind.LLM: self.llm,
            NodeKind.PROVIDER: self.provider,
        }
        missing = {kind for kind, runner in optional.items() if runner is None}
        return frozenset(NodeKind) - missing

    def within(self, known: Known | None) -> Known:
        """Return what flows may refer to where these runners are."""
        return replace(known or Known(), kinds=self.kinds)


async def _refuse(*_: Any) -> Any:
    raise RuntimeError("flows that are only read do not run")


#: For code that reads flows and runs none of their nodes.
READ_ONLY: Runners = Runners(
    call=_refuse, http=_refuse, llm=_refuse, provider=_refuse, state=_refuse
)
