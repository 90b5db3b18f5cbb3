"""Where a flow runs: in a conversation, or inside one step as a branch of another flow."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from typing_extensions import override

from holdfast.host.flows.model import Approval
from holdfast.host.flows.pens import Pen, StreamPen, saying
from holdfast.host.flows.runners import Invocation, NodeFailed
from holdfast.model.session_keys import DEFAULT_ENV
from holdfast.model.waitpoints import Signal
from holdfast.worker.budget import Reserved
from holdfast.worker.chat import Chat
from holdfast.worker.context import Context
from holdfast.worker.messages import Button, ChatMessage
from holdfast.worker.outcomes import Denied
from holdfast.worker.waiting import WaitpointOptions, approval_condition, approved

#: How much longer amounts stay reserved than the call that they are for may take.
_GRACE_S = 60.0
_PARTS = ("text", "card", "data", "buttons", "markdown", "form", "files")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Whose flow it is."""

    execution: str
    tenant: str
    env: str
    endpoint: str
    conversation: str
    user: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Approving:
    """What an approval asks."""

    name: str
    title: str
    approvers: Sequence[str]
    need: int
    schema: Any
    timeout_ms: int | None
    on_open: str | None = None

    @classmethod
    def of(cls, name: str, action: Approval, scope: dict[str, Any]) -> Approving:
        """Return what a node asks; its texts are rendered."""
        return cls(
            name=name,
            title=action.title.text(scope),
            approvers=[text.text(scope) for text in action.approvers],
            need=action.need,
            schema=action.schema,
            timeout_ms=action.timeout,
            on_open=None if action.on_open is None else action.on_open.text(scope),
        )


class Stage(Protocol):
    """What the interpreter needs to run a flow."""

    @property
    def place(self) -> Place:
        """Whose flow it is."""
        ...

    def key(self, step: str) -> str:
        """Return an idempotency key for a step."""
        ...

    def step(self, name: str, make: Callable[[], Awaitable[Any]]) -> Awaitable[Any]:
        """Run a function once and record its result."""
        ...

    async def gather(self, steps: list[Awaitable[Any]]) -> list[Any]:
        """Run steps at the same time."""
        ...

    async def say(self, activity: Mapping[str, Any]) -> None:
        """Reply."""
        ...

    async def receive(self, timeout_ms: int | None) -> ChatMessage:
        """Wait for a message; raises WaitTimedOut."""
        ...

    async def decide(self, asked: Approving) -> dict[str, Any]:
        """Wait for a decision; raises WaitTimedOut."""
        ...

    async def sleep(self, ms: int) -> None:
        """Wait for a while."""
        ...

    async def now(self, step: str) -> datetime:
        """Return the time, the same in every attempt."""
        ...

    async def state(self, name: str) -> Any:
        """Return a value of the session's state."""
        ...

    def clock(self) -> datetime:
        """Return the time, which is another one in every attempt."""
        ...

    def pen(self, node: str, *, reply: bool) -> AbstractAsyncContextManager[Pen]:
        """Return what shows the words of a model while the block runs, as a reply or not."""
        ...

    def reserve(
        self, amounts: Mapping[str, int], budget: str | None, ttl_ms: int
    ) -> AbstractAsyncContextManager[Reserved]:
        """Reserve from the budgets of the execution while the block runs."""
        ...


class Talking(Stage, Protocol):
    """What a conversation needs beside that."""

    async def welcomes(self, *, done: bool = False) -> bool:
        """Whether this session is the one that welcomes the user."""
        ...


def invocation(stage: Stage, flow: str, node: str, name: str, timeout_ms: int) -> Invocation:
    """Return who calls from a node; `name` names this run of the node, or a part of it."""
    place = stage.place
    return Invocation(
        execution=place.execution,
        tenant=place.tenant,
        env=place.env,
        flow=flow,
        node=node,
        idempotency_key=stage.key(name),
        timeout_ms=timeout_ms,
    )


class TaskStage:
    """A task of the SDK: a flow without a conversation. Its replies are kept for the result."""

    def __init__(self, context: Context) -> None:
        self._context = context
        claim = context.claim
        self.place: Place = Place(
            execution=claim.id,
            tenant=claim.tenant,
            env=DEFAULT_ENV,
            endpoint="",
            conversation="",
            user="",
        )
        self.replies: list[dict[str, Any]] = []

    def key(self, step: str) -> str:
        """Return an idempotency key for a step."""
        return self._context.idempotency_key(step)

    def step(self, name: str, make: Callable[[], Awaitable[Any]]) -> Awaitable[Any]:
        """Run a function once and record its result."""

        async def run() -> Any:
            return await make()

        return self._context.step(name, run)

    async def gather(self, steps: list[Awaitable[Any]]) -> list[Any]:
        """Run steps at the same time."""
        return await self._context.gather(*steps)

    async def say(self, activity: Mapping[str, Any]) -> None:
        """Keep a reply for the result."""
        self.replies.append(dict(activity))

    async def receive(self, timeout_ms: int | None) -> ChatMessage:
        """Refuse: there is no conversation."""
        del timeout_ms
        raise NodeFailed("wait_not_allowed", "a flow without a conversation cannot wait for it")

    async def decide(self, asked: Approving) -> dict[str, Any]:
        """Wait for a decision; raises WaitTimedOut."""
        options: WaitpointOptions = {"title": asked.title, "approvers": asked.approvers}
        if asked.on_open is not None:
            options["on_open"] = asked.on_open
        point = await self._context.waitpoint(asked.name, schema=asked.schema, **options)
        condition = approval_condition(asked.name, asked.need)
        timeout = _seconds(asked.timeout_ms)
        return decision(
            await self._context.wait_until(condition, point, name=asked.name, timeout=timeout)
        )

    async def sleep(self, ms: int) -> None:
        """Wait for a while, without a slot if it is long."""
        await self._context.sleep(ms / 1000)

    async def now(self, step: str) -> datetime:
        """Return the time, the same in every attempt."""

        async def make() -> str:
            return self._context.now().isoformat()

        return datetime.fromisoformat(await self._context.step(step, make))

    async def state(self, name: str) -> Any:
        """Refuse: there is no session."""
        raise NodeFailed("state_not_allowed", f"there is no session to read {name} from")

    def clock(self) -> datetime:
        """Return the time, which is another one in every attempt."""
        return self._context.now()

    def pen(self, node: str, *, reply: bool) -> AbstractAsyncContextManager[Pen]:
        """Return what shows the words of a model in the stream; a reply is said in the end."""
        return saying(StreamPen(self._context.stream, node), self.say if reply else None)

    def reserve(
        self, amounts: Mapping[str, int], budget: str | None, ttl_ms: int
    ) -> AbstractAsyncContextManager[Reserved]:
        """Reserve from the budgets of the execution while the block runs."""
        ttl = ttl_ms / 1000 + _GRACE_S
        return self._context.budget.reserve(amounts, budget=budget, ttl=ttl)


class ChatStage(TaskStage):
    """A conversation of the SDK."""

    def __init__(self, chat: Chat) -> None:
        super().__init__(chat)
        self._chat = chat
        key = chat.session.key
        self.place = Place(
            execution=chat.id,
            tenant=key.tenant,
            env=key.env,
            endpoint=key.endpoint,
            conversation=key.conversation,
            user=key.user,
        )

    @override
    async def say(self, activity: Mapping[str, Any]) -> None:
        await self._chat.say(**parts_of(activity))

    async def welcomes(self, *, done: bool = False) -> bool:
        """Whether this session is the one that welcomes the user."""
        return await self._chat.welcomes(done=done)

    @override
    async def receive(self, timeout_ms: int | None) -> ChatMessage:
        return await self._chat.receive(timeout=_seconds(timeout_ms))

    @override
    async def decide(self, asked: Approving) -> dict[str, Any]:
        if asked.schema is not None:
            return await super().decide(asked)
        timeout = _seconds(asked.timeout_ms)
        try:
            signals = await self._chat.approval(
                asked.title,
                approvers=asked.approvers,
                count=asked.need,
                timeout=timeout,
                name=asked.name,
                on_open=asked.on_open,
            )
        except Denied as denied:
            return _denial(denied)
        return decision(signals)

    @override
    async def state(self, name: str) -> Any:
        return await self._chat.state.get(name)

    @override
    def pen(self, node: str, *, reply: bool) -> AbstractAsyncContextManager[Pen]:
        return self._chat.typing() if reply else super().pen(node, reply=False)


def parts_of(activity: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a chat says for an activity; what it does not know goes into `data`."""
    parts = {key: activity[key] for key in _PARTS if activity.get(key) is not None}
    if "buttons" in parts:
        parts["buttons"] = _buttons(parts["buttons"])
    further = {key: value for key, value in activity.items() if key not in _PARTS}
    if further:
        data = parts.get("data")
        given = data if isinstance(data, dict) else {} if data is None else {"data": data}
        parts["data"] = {**further, **given}
    return parts


def decision(signals: Sequence[Signal]) -> dict[str, Any]:
    """Return what people decided, as a node gets it."""
    try:
        first, *others = approved(signals)
    except Denied as denied:
        return _denial(denied)
    decision = {"approved": True, "by": first.source.identity, "data": first.value}
    return {**decision, "also": [signal.source.identity for signal in others]}


def _denial(denied: Denied) -> dict[str, Any]:
    return {
        "approved": False,
        "by": denied.source.identity,
        "data": denied.payload,
        "also": [],
    }


def _buttons(given: Any) -> Any:
    """Return buttons: texts, labels by value, or `{label, value}`."""
    if not isinstance(given, list):
        return given if isinstance(given, Mapping) else [given]
    return [
        Button(str(one.get("label", "")), str(one.get("value", one.get("label", ""))))
        if isinstance(one, Mapping)
        else one
        for one in given
    ]


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000


@dataclass(slots=True)
class BranchStage:
    """One step of another flow: nothing in it is recorded by itself, and it cannot wait."""

    outer: Stage
    #: Makes the keys of this branch its own.
    prefix: str
    moment: datetime
    replies: list[dict[str, Any]] = field(default_factory=list)

    @property
    def place(self) -> Place:
        """Whose flow it is."""
        return self.outer.place

    def key(self, step: str) -> str:
        """Return an idempotency key for a step."""
        return self.outer.key(f"{self.prefix}/{step}")

    async def step(self, name: str, make: Callable[[], Awaitable[Any]]) -> Any:
        """Run a function."""
        del name
        return await make()

    async def gather(self, steps: list[Awaitable[Any]]) -> list[Any]:
        """Run functions one after the other."""
        return [await step for step in steps]

    async def say(self, activity: Mapping[str, Any]) -> None:
        """Keep a reply until the branch has ended."""
        self.replies.append(dict(activity))

    async def receive(self, timeout_ms: int | None) -> ChatMessage:
        """Refuse: a branch cannot wait."""
        del timeout_ms
        raise NodeFailed("wait_not_allowed", "a branch cannot wait for a message")

    async def decide(self, asked: Approving) -> dict[str, Any]:
        """Refuse: a branch cannot wait."""
        raise NodeFailed("wait_not_allowed", f"a branch cannot wait for {asked.name}")

    async def sleep(self, ms: int) -> None:
        """Wait, while the step holds its worker."""
        await asyncio.sleep(ms / 1000)

    async def now(self, step: str) -> datetime:
        """Return the time at which the branch began."""
        del step
        return self.moment

    async def state(self, name: str) -> Any:
        """Refuse: a step cannot record another."""
        raise NodeFailed("state_not_allowed", f"a branch cannot read state.session.{name}")

    def clock(self) -> datetime:
        """Return the time."""
        return self.outer.clock()

    def pen(self, node: str, *, reply: bool) -> AbstractAsyncContextManager[Pen]:
        """Return what shows the words of a model in the stream; a reply is kept in the end."""
        return saying(self.outer.pen(node, reply=False), self.say if reply else None)

    def reserve(
        self, amounts: Mapping[str, int], budget: str | None, ttl_ms: int
    ) -> AbstractAsyncContextManager[Reserved]:
        """Reserve from the budgets of the execution while the block runs."""
        return self.outer.reserve(amounts, budget, ttl_ms)
