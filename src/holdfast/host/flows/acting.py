"""What nodes do when they reach out of the flow: calls, models, web servers, branches."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import msgspec

from holdfast.host.flows.expressions import ExpressionFailed
from holdfast.host.flows.fields import Ref
from holdfast.host.flows.model import (
    Call,
    Each,
    Flow,
    FlowNode,
    Http,
    Join,
    Llm,
    NodeKind,
    Parallel,
    Provider,
    SubFlow,
)
from holdfast.host.flows.pens import Pen
from holdfast.host.flows.progress import FlowFailed, bounded
from holdfast.host.flows.runners import (
    Answer,
    ComponentCall,
    HttpCall,
    Invocation,
    ModelCall,
    NodeFailed,
    ProviderCall,
    Runners,
    Secret,
)
from holdfast.host.flows.stages import Stage, invocation
from holdfast.host.flows.templates import Text, Value, as_text

_log = logging.getLogger(__name__)

Scope = dict[str, Any]
C = TypeVar("C")

#: Kinds that are steps: they run once, and their outcome is recorded.
STEPS = frozenset(
    {
        NodeKind.CALL,
        NodeKind.HTTP,
        NodeKind.LLM,
        NodeKind.PROVIDER,
        NodeKind.PARALLEL,
        NodeKind.EACH,
    }
)


class Branching(Protocol):
    """Runs a flow as a branch."""

    async def branch(self, flow: str, given: Any, stage: Stage, prefix: str) -> dict[str, Any]:
        """Run a flow inside a step; returns its result and its replies."""
        ...


class Actor:
    """Runs the action of one node once."""

    def __init__(
        self,
        runners: Runners,
        flows: Branching,
        stage: Stage,
        *,
        flow: Flow,
        node: FlowNode,
        step: str,
    ) -> None:
        self._runners = runners
        self._flows = flows
        self._stage = stage
        #: Names this run of the node in idempotency keys, which are the same in every attempt.
        self._name = step
        self._pen: Pen | None = None
        self._attempt_number = 1
        self._flow = flow.id
        self._node = node
        # Whatever a node calls, a turn does not take longer than it may.
        self._timeout_ms = min(node.timeout or flow.limits.time_per_turn, flow.limits.time_per_turn)

    async def run(self, attempt: int, scope: Scope, pen: Pen | None = None) -> dict[str, Any]:
        """Run the action, and return its recorded outcome: {ok, replies} or {error}."""
        action = self._node.action
        self._pen, self._attempt_number = pen, attempt
        step = self._name if attempt == 1 else f"{self._name}~{attempt}"
        if isinstance(action, Parallel) and action.join is Join.ALL:
            works = {name: (work, scope) for name, work in action.branches.items()}
            found = await self._all(step, works, len(works))
            return _merged(found, lambda outputs: dict(zip(works, outputs, strict=True)))
        if isinstance(action, Each):
            return await self._each(step, action, scope)
        made = self._made(scope)
        return _outcome(await self._stage.step(step, lambda: self._attempt(made)))

    def _made(self, scope: Scope) -> Callable[[], Awaitable[Any]]:
        """Return what to do; templates are evaluated first, so that they fail before anything."""
        action = self._node.action
        about = self._about(self._name)
        if isinstance(action, Call):
            return self._call(action, scope, about)
        if isinstance(action, Http):
            return self._http(action, scope, about)
        if isinstance(action, Llm):
            return self._llm(action, scope, about)
        if isinstance(action, Provider):
            call = ProviderCall(
                type=action.type.name,
                operation=action.operation.name,
                input=_value(action.input, scope),
                about=about,
            )
            return _bound(self._runners.provider, call)
        if isinstance(action, Parallel):
            return lambda: self._race(action, scope)
        raise AssertionError(action)

    def _about(self, name: str) -> Invocation:
        about = invocation(self._stage, self._flow, self._node.id, name, self._timeout_ms)
        return replace(about, attempt=self._attempt_number)

    async def _attempt(self, make: Callable[[], Awaitable[Any]]) -> dict[str, Any]:
        """Run once, in the time that the node has; returns what is recorded."""
        try:
            found = await self._in_time(make)
        except NodeFailed as failure:
            return {"error": _error(failure)}
        if isinstance(found, Answer):
            return _checked({"ok": found.value, "replies": found.replies})
        return _checked({"ok": found})

    async def _in_time(self, make: Callable[[], Awaitable[Any]]) -> Any:
        """Run once; whatever fails is a failure of the node."""
        try:
            async with asyncio.timeout(self._timeout_ms / 1000):
                return await make()
        except TimeoutError as error:
            raise NodeFailed("timeout", "the node took too long", retryable=True) from error
        except NodeFailed:
            raise
        except FlowFailed as error:
            raise NodeFailed(error.code, str(error), retryable=error.retryable) from error
        except ExpressionFailed as error:
            raise NodeFailed(error.code, str(error)) from error
        except Exception as error:
            # Its message may hold anything, such as a secret: neither logs nor flows get it.
            kind, lines = type(error).__name__, "".join(traceback.format_tb(error.__traceback__))
            _log.error("node %s of flow %s: %s\n%s", self._node.id, self._flow, kind, lines)
            message = f"the node failed ({kind})"
            raise NodeFailed("internal", message) from error

    def _call(self, action: Call, scope: Scope, about: Invocation) -> Callable[[], Awaitable[Any]]:
        call = ComponentCall(
            component=action.component.name,
            operation=action.operation.name,
            input=_value(action.input, scope),
            about=about,
        )
        return _bound(self._runners.call, call)

    def _http(self, action: Http, scope: Scope, about: Invocation) -> Callable[[], Awaitable[Any]]:
        headers: dict[str, str | Secret] = {
            name: Secret(name=value.name) if isinstance(value, Ref) else value.text(scope)
            for name, value in (action.headers or {}).items()
        }
        call = HttpCall(
            method=action.method,
            url=action.url.text(scope),
            headers=headers,
            json=_value(action.json, scope, None),
            has_body=action.json is not None,
            about=about,
        )
        return _bound(self._runners.http, call)

    def _llm(self, action: Llm, scope: Scope, about: Invocation) -> Callable[[], Awaitable[Any]]:
        given = scope.get("input")
        said = given.get("text", "") if isinstance(given, Mapping) else as_text(given)
        messages = _value(action.messages, scope, [{"role": "user", "content": said}])
        if not isinstance(messages, list):
            raise NodeFailed("invalid_input", "`messages` must be a list")
        call = ModelCall(
            model=action.model.name,
            system=_text(action.system, scope),
            messages=messages,
            tools=tuple(tool.name for tool in action.tools),
            max_tokens=action.max_tokens,
            budget=_text(action.budget, scope),
            about=about,
            rounds=action.rounds,
            reserve=self._stage.reserve,
        )
        if self._pen is not None:
            call = replace(call, show=self._pen.write)
        return _bound(self._runners.llm, call)

    async def _work(self, work: Call | SubFlow, scope: Scope, name: str) -> Any:
        """Run a branch; it is one step of this flow."""
        if isinstance(work, Call):
            return await self._call(work, scope, self._about(name))()
        found = await self._flows.branch(
            work.flow.name, _value(work.input, scope), self._stage, name
        )
        return Answer(found["ok"], found["replies"])

    async def _all(
        self, step: str, works: Mapping[str, tuple[Call | SubFlow, Scope]], most: int
    ) -> list[dict[str, Any]]:
        """Run branches as steps of their own, some at a time."""
        slots = asyncio.Semaphore(max(1, most))

        def make(name: str, work: Call | SubFlow, scope: Scope) -> Awaitable[Any]:
            key = f"{self._name}/{name}"

            async def run() -> dict[str, Any]:
                async with slots:
                    return await self._attempt(lambda: self._work(work, scope, key))

            return self._stage.step(f"{step}/{name}", run)

        steps = [make(name, work, scope) for name, (work, scope) in works.items()]
        return [_outcome(one) for one in await self._stage.gather(steps)]

    async def _each(self, step: str, action: Each, scope: Scope) -> dict[str, Any]:
        items = action.items.evaluate(scope)
        if not isinstance(items, list):
            raise NodeFailed("invalid_input", "`items` must be a list")
        if len(items) > action.limit:
            message = f"there are {len(items)} items, and {action.limit} are allowed"
            raise NodeFailed("too_many_items", message)
        works = {
            str(number): (action.do, {**scope, action.as_: item})
            for number, item in enumerate(items)
        }
        found = await self._all(step, works, action.concurrency)
        return _merged(found, list)

    async def _race(self, action: Parallel, scope: Scope) -> Any:
        """Run branches until enough have succeeded; the others are cancelled."""
        wanted = 1 if action.join is Join.ANY else (action.k or len(action.branches))
        tasks = {
            asyncio.ensure_future(self._work(work, scope, f"{self._name}/{name}")): name
            for name, work in action.branches.items()
        }
        done: dict[str, Any] = {}
        failed, pending = 0, set(tasks)
        try:
            while len(done) < wanted:
                ended, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                # In the order of the file, if several have ended.
                for task in [one for one in tasks if one in ended]:
                    if len(done) == wanted:
                        break
                    try:
                        done[tasks[task]] = task.result()
                    except (NodeFailed, ExpressionFailed, FlowFailed):
                        failed += 1
                        if len(tasks) - failed < wanted:
                            raise
        finally:
            for one in tasks:
                one.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        # What won is in the order of the file, whichever was first.
        won = {name: done[name] for name in action.branches if name in done}
        replies = [
            reply for one in won.values() if isinstance(one, Answer) for reply in one.replies
        ]
        outputs = {name: one.value if isinstance(one, Answer) else one for name, one in won.items()}
        return Answer(outputs, replies)


def _bound(run: Callable[[C], Awaitable[Any]] | None, call: C) -> Callable[[], Awaitable[Any]]:
    if run is None:
        raise NodeFailed("not_supported", "this host does not run nodes of this kind")
    return lambda: run(call)


def _value(value: Value | None, scope: Scope, default: Any = None) -> Any:
    missing = {} if default is None else default
    return missing if value is None else value.evaluate(scope)


def _text(text: Text | None, scope: Scope) -> str | None:
    return None if text is None else text.text(scope)


def _error(failure: NodeFailed) -> dict[str, Any]:
    return {**failure.as_value(), "retry_after_ms": failure.retry_after_ms}


def _outcome(found: Any) -> dict[str, Any]:
    outcome: dict[str, Any] = found
    return outcome


def _checked(outcome: dict[str, Any]) -> dict[str, Any]:
    """Refuse an output that is no JSON, too large or nested too deep."""
    try:
        # What a runner returns may be anything; what is recorded is JSON.
        found: dict[str, Any] = bounded(msgspec.to_builtins(outcome), "the output")
    except NodeFailed as failure:
        return {"error": _error(failure)}
    except (TypeError, ValueError, RecursionError) as error:
        message = f"the output is not JSON: {error}"
        return {"error": _error(NodeFailed("invalid_output", message[:500]))}
    return found


def _merged(outcomes: list[dict[str, Any]], merge: Callable[[list[Any]], Any]) -> dict[str, Any]:
    """Return the outcome of branches that must all succeed."""
    for outcome in outcomes:
        if "error" in outcome:
            return {"error": outcome["error"]}
    replies = [reply for outcome in outcomes for reply in outcome.get("replies", ())]
    return _checked({"ok": merge([outcome["ok"] for outcome in outcomes]), "replies": replies})
