"""One attempt at a flow and its sub-flows: the loop over nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from holdfast.errors import InvalidInput
from holdfast.host.flows import answers
from holdfast.host.flows.acting import STEPS, Actor
from holdfast.host.flows.attempts import Attempts, delay_ms
from holdfast.host.flows.expressions import ExpressionFailed
from holdfast.host.flows.model import (
    END,
    Approval,
    Ask,
    Each,
    Emit,
    End,
    Flow,
    FlowNode,
    Goto,
    Llm,
    Parallel,
    SetVars,
    SubFlow,
    Wait,
)
from holdfast.host.flows.pacing import Meter
from holdfast.host.flows.progress import (
    FlowExpired,
    FlowFailed,
    FlowState,
    Frame,
    Pending,
    Turn,
    bounded,
    first_end,
    packed,
)
from holdfast.host.flows.runners import NodeFailed, as_failure
from holdfast.host.flows.scopes import SILENT
from holdfast.host.flows.stages import Approving, Stage
from holdfast.host.flows.surroundings import Surroundings
from holdfast.host.flows.templates import Value, as_text
from holdfast.host.flows.watching import ON_ERROR, ON_TIMEOUT, route
from holdfast.model.moments import to_ms
from holdfast.model.sessions import MOVE
from holdfast.worker.chat import Chat
from holdfast.worker.messages import ChatMessage
from holdfast.worker.outcomes import AttemptSuspended, WaitTimedOut

if TYPE_CHECKING:
    from holdfast.host.flows.interpreter import Flows

_NOTHING = object()


class Run:
    """One attempt at a flow and its sub-flows."""

    def __init__(
        self, flows: Flows, stage: Stage, state: FlowState | None, chat: Chat | None
    ) -> None:
        self._flows = flows
        self._stage = stage
        self._chat = chat
        self._state = state or FlowState(frames=[], vars={})
        self._steps = 0
        self._meter = Meter()
        self._turn = Turn()
        self._payload: Any = {}
        self._activity = {**self._activity_of(None), "kind": "start"}
        #: The inputs of flows that did not wait since they were entered, by depth.
        self._given: dict[int, Any] = {}
        self._result: Any = None
        #: Called once, when the first turn ends.
        self.on_park: Callable[[], Awaitable[object]] | None = None

    @property
    def state(self) -> FlowState:
        """How far it has come; it changes while the flow runs."""
        return self._state

    # Turns

    async def park(self) -> None:
        """End a turn: the flow waits, or has ended."""
        on_park, self.on_park = self.on_park, None
        if on_park is not None:
            await on_park()

    def begin(self, message: ChatMessage | None) -> None:
        """Begin a turn: what it may use is counted again."""
        self._turn = Turn()
        self._flows.pace.begin(self._stage.place.tenant)
        self._payload = {} if message is None else dict(message.payload)
        self._activity = self._activity_of(message)
        self._given.clear()
        self._state.pending = None

    def _activity_of(self, message: ChatMessage | None) -> dict[str, Any]:
        place = self._stage.place
        return {
            "id": message.id if message else "",
            "kind": message.kind if message else "timeout",
            "endpoint": place.endpoint,
            "conversation": place.conversation,
            "user": place.user,
        }

    def enter(self, flow_id: str, given: Any, node: str | None = None) -> None:
        """Enter a flow, as the innermost one."""
        flow = self._flows.flows[flow_id]
        for name, var in flow.vars.items():
            if var.has_default:
                self._state.vars.setdefault(name, var.default)
        self._state.frames.append(Frame(flow=flow_id, node=node or flow.start))
        self._given[len(self._state.frames)] = given

    # The loop

    @property
    def _frame(self) -> Frame:
        return self._state.frames[-1]

    @property
    def _flow(self) -> Flow:
        return self._flows.flows[self._frame.flow]

    async def to_the_end(self) -> Any:
        """Run nodes until the outermost flow has ended; returns its result."""
        return await self._meter.run(self._to_the_end())

    async def _to_the_end(self) -> Any:
        tenant, pace = self._stage.place.tenant, self._flows.pace
        pace.begin(tenant)
        while self._state.frames:
            await pace.rest(tenant, self._meter)
            if self._frame.node == END:
                await self._leave()
                continue
            node = self._flow.nodes[self._frame.node]
            try:
                await self._node(node)
            except FlowExpired as expired:
                await self._expire(expired.depth)
            except (NodeFailed, ExpressionFailed, InvalidInput) as error:
                await self._fail(node, as_failure(error))
        return self._result

    async def _leave(self) -> None:
        """End the innermost flow; its result is the output of the node that ran it."""
        result, self._result = self._result, None
        self._pop()
        if not self._state.frames:
            self._result = result
            return
        self._frame.attempt = 1
        node = self._flow.nodes[self._frame.node]
        try:
            self._finish(node, result, await self._scope(node))
        except (NodeFailed, ExpressionFailed) as error:
            await self._fail(node, as_failure(error))

    def _pop(self) -> None:
        self._given.pop(len(self._state.frames), None)
        self._state.frames.pop()

    async def _fail(self, node: FlowNode, failure: NodeFailed) -> None:
        """Continue where failures are handled: at `on_error` of this node, or of an outer one."""
        while True:
            frame = self._frame
            if node.on_error is not None:
                self._left(node, ON_ERROR)
                frame.prev = {"error": failure.as_value(), "node": node.id}
                frame.node = node.on_error.name
                return
            self._pop()
            if not self._state.frames:
                message = f"node {node.id}: {failure}"
                raise FlowFailed(failure.code, message, retryable=failure.retryable) from failure
            node = self._flow.nodes[self._frame.node]
            if await self._again(node, failure):
                return

    async def _again(self, node: FlowNode, failure: NodeFailed) -> bool:
        """Start a sub-flow again, from the beginning, if its node may be tried again."""
        frame, retry = self._frame, node.retry
        if retry is None or not failure.retryable or frame.attempt >= retry.max_attempts:
            frame.attempt = 1
            return False
        await self._stage.sleep(delay_ms(retry, frame.attempt, failure.retry_after_ms))
        frame.attempt += 1
        self._steps += 1
        return True

    async def _expire(self, depth: int) -> None:
        """Give up a sub-flow, and with it the flows that it runs."""
        flow = self._state.frames[depth].flow
        while len(self._state.frames) > depth:
            self._pop()
        node = self._flow.nodes[self._frame.node]
        failure = NodeFailed("timeout", f"the flow {flow} took too long", retryable=True)
        if not await self._again(node, failure):
            await self._fail(node, failure)

    async def _time_left(self, node: FlowNode) -> int | None:
        """Return how many ms are left to sub-flows that have a timeout; raises FlowExpired."""
        first = first_end(self._state.frames)
        if first is None:
            return None
        until, depth = first
        left = until - to_ms(await self._stage.now(self._step_name(node) + "@left"))
        if left <= 0:
            self.begin(None)
            raise FlowExpired(depth)
        return left

    async def _node(self, node: FlowNode) -> None:
        limits = self._flow.limits
        if self._state.pending is not None:
            await self._received(node)
            return
        self._turn.count_node(limits)
        await self._time_left(node)
        self._flows.watcher.entered(self._stage.place.execution, self._frame.flow, node.id)
        scope = await self._scope(node)
        if node.when is not None and not node.when.expression.holds(scope):
            self._route(node, scope)
            return
        action = node.action
        if isinstance(action, Wait | Ask):
            await self._wait(node, action, scope)
        elif isinstance(action, SubFlow):
            await self._enter(node, action, scope)
        elif isinstance(action, Goto):
            self._goto(action)
        elif isinstance(action, End):
            result = None if action.result is None else action.result.evaluate(scope)
            self._result = bounded(result, "the result")
            self._set(node.set, scope)
            self._frame.node = END
        elif node.kind in STEPS:
            outcome = await self._acted(node, scope)
            for reply in outcome.get("replies") or ():
                await self._say(reply)
            if isinstance(action, Parallel | Each):
                self._steps += len(outcome["ok"])
            self._finish(node, outcome["ok"], scope)
        else:
            await self._simple(node, scope)

    async def _simple(self, node: FlowNode, scope: dict[str, Any]) -> None:
        action = node.action
        if isinstance(action, Emit):
            for value in action.activities:
                await self._emit(value, scope)
            self._finish(node, _NOTHING, scope)
        elif isinstance(action, SetVars):
            self._set(action.values, scope)
            self._finish(node, _NOTHING, scope)
        elif isinstance(action, Approval):
            await self._approve(node, action, scope)
        else:
            raise AssertionError(action)  # noqa: TRY004 - a kind without a case

    async def _enter(self, node: FlowNode, action: SubFlow, scope: dict[str, Any]) -> None:
        """Enter a sub-flow, which must end in the time that its node has."""
        given = {} if action.input is None else action.input.evaluate(scope)
        bounded(given, "the input of the flow")
        until = None
        if node.timeout is not None:
            now = await self._stage.now(self._step_name(node) + "@until")
            until = to_ms(now) + node.timeout
        self.enter(action.flow.name, given)
        self._frame.until_ms = until

    def _goto(self, action: Goto) -> None:
        given = self._given.get(len(self._state.frames), self._payload)
        until = self._state.frames.pop().until_ms
        self.enter(action.flow.name, given, action.node.name if action.node else None)
        self._frame.until_ms = until

    # What nodes do

    async def _emit(self, value: Value, scope: dict[str, Any]) -> None:
        activity = value.evaluate(scope)
        if "text" in activity and not isinstance(activity["text"], str):
            activity = {**activity, "text": as_text(activity["text"])}
        await self._say(activity)

    async def _say(self, activity: Mapping[str, Any]) -> None:
        self._turn.count_reply(self._flow.limits)
        await self._stage.say(activity)

    async def _acted(self, node: FlowNode, scope: dict[str, Any]) -> dict[str, Any]:
        """Run the step of a node, as often as it may be tried."""
        if isinstance(node.action, Llm) and node.action.reply:
            self._turn.count_reply(self._flow.limits)
        actor = Actor(
            self._flows.runners,
            self._flows,
            self._stage,
            flow=self._flow,
            node=node,
            step=self._step_name(node),
        )
        attempts = Attempts(actor, self._stage, node)
        try:
            return await attempts.run(scope)
        finally:
            self._steps += attempts.steps

    def _step_name(self, node: FlowNode) -> str:
        self._state.sequence += 1
        self._steps += 1
        return f"{self._state.sequence}.{self._frame.flow}.{node.id}"

    async def _approve(self, node: FlowNode, action: Approval, scope: dict[str, Any]) -> None:
        left = await self._time_left(node)
        asked = Approving.of(node.id, action, scope)
        timeout = _shorter(action.timeout, left)
        asked = dataclasses.replace(asked, timeout_ms=timeout)
        if asked.on_open is not None and self._flows.runners.reach is not None:
            self._flows.runners.reach(self._frame.flow, asked.on_open)
        self._steps += 2
        await self.park()
        try:
            decision = await self._stage.decide(asked)
        except WaitTimedOut as error:
            self._time_out(node, action, error, is_flow=timeout == left)
            return
        self.begin(None)
        self._finish(node, decision, await self._scope(node))

    def _time_out(
        self, node: FlowNode, action: Wait | Ask | Approval, error: Exception, *, is_flow: bool
    ) -> None:
        """Continue after a wait; `is_flow` says that the flow around it has no time left."""
        self.begin(None)
        first = first_end(self._state.frames)
        if first is not None and is_flow:
            raise FlowExpired(first[1])
        if action.on_timeout is None:
            raise NodeFailed("timeout", f"node {node.id}: nobody answered in time") from error
        self._left(node, ON_TIMEOUT)
        self._frame.prev = None
        self._frame.node = action.on_timeout.name

    # Waiting for messages

    async def _wait(self, node: FlowNode, action: Wait | Ask, scope: dict[str, Any]) -> None:
        pending = Pending()
        if isinstance(action, Ask):
            question = action.text.text(scope)
            pending = Pending(
                question=question,
                invalid=None if action.invalid is None else action.invalid.text(scope),
                left=action.retries,
            )
            await self._say(answers.question(question, action.answer))
        self._state.pending = pending
        await self.park()
        if self._steps >= self._flows.steps_kept and self._chat is not None:
            await self._chat.continue_as(packed(self._state, self._flows.used))
        await self._received(node)

    async def _received(self, node: FlowNode) -> None:
        """Wait for the message that a node waits for."""
        action = node.action
        if not isinstance(action, Wait | Ask):
            raise FlowFailed("flow_changed", f"node {node.id} does not wait any more")
        pending = self._state.pending or Pending()
        while True:
            self._steps += 1
            left = await self._time_left(node)
            own = action.timeout if pending.wait_ms is None else pending.wait_ms
            timeout = _shorter(own, left)
            try:
                message = await self._stage.receive(timeout)
            except WaitTimedOut as error:
                self._time_out(node, action, error, is_flow=timeout == left)
                return
            if message.kind == MOVE:
                await self._move(pending, message)
            pending.wait_ms = None
            if isinstance(action, Wait):
                self.begin(message)
                self._finish(node, dict(message.payload), await self._scope(node))
                return
            if not answers.says_something(message):
                continue
            self.begin(message)
            try:
                value = answers.read(message, action.answer)
            except answers.InvalidAnswer as error:
                if pending.left <= 0:
                    text = f"no valid answer to {pending.question!r}"
                    raise NodeFailed("invalid_answer", text) from error
                pending.left -= 1
                self._state.pending = pending
                problem = pending.invalid or str(error)
                text = f"{problem} {pending.question}"
                await self._say(answers.question(text, action.answer))
                continue
            self._finish(node, value, await self._scope(node))
            return

    async def _move(self, pending: Pending, request: ChatMessage) -> NoReturn:
        """Leave the revision, whose drain is overdue, with all that is needed to continue."""
        if self._flows.mover is None or self._chat is None:
            raise FlowFailed("cannot_move", "the flow cannot continue on another revision")
        pending.wait_ms = request.payload.get("left_ms")
        self._state.pending = pending
        state = packed(self._state, self._flows.used)
        await self._flows.mover(self._chat, self._state.frames, state)
        raise AttemptSuspended("it does not continue on this revision")

    # After a node

    def _finish(self, node: FlowNode, output: Any, scope: dict[str, Any]) -> None:
        """Keep the output of a node, set variables from it, and follow its routes."""
        frame = self._frame
        if output is not _NOTHING and node.kind not in SILENT:
            frame.prev = output
            frame.outputs[node.id] = output
        after = self._plain_scope(scope)
        self._set(node.set, after)
        after["vars"] = self._state.vars
        self._route(node, after)

    def _set(self, values: Mapping[str, Value], scope: dict[str, Any]) -> None:
        found = {
            name: bounded(value.evaluate(scope), f"the variable `{name}`")
            for name, value in values.items()
        }
        self._state.vars = {**self._state.vars, **found}

    def _route(self, node: FlowNode, scope: dict[str, Any]) -> None:
        for number, one in enumerate(node.out):
            if one.when is None or one.when.expression.holds(scope):
                self._left(node, route(number))
                self._frame.node = one.to.name
                return
        self._frame.node = END

    def _left(self, node: FlowNode, way: str) -> None:
        self._flows.watcher.left(self._frame.flow, node.id, way)

    # Scopes

    def _plain_scope(self, before: Mapping[str, Any]) -> dict[str, Any]:
        frame, place = self._frame, self._stage.place
        found: dict[str, Any] = {
            "input": self._given.get(len(self._state.frames), self._payload),
            "activity": self._activity,
            "user": {"id": place.user},
            "prev": frame.prev,
            "nodes": frame.outputs,
            "vars": self._state.vars,
            "tenant": place.tenant,
            "env": place.env,
        }
        return {**found, **{name: before[name] for name in ("now", "state") if name in before}}

    async def _scope(self, node: FlowNode) -> dict[str, Any]:
        uses = self._flows.uses[self._frame.flow, node.id]
        surroundings = Surroundings(self._flows.runners, self._stage)
        found = await surroundings.read(uses, self._flow, node, lambda: self._step_name(node))
        self._steps += surroundings.steps
        return self._plain_scope(found)


def _shorter(one: int | None, other: int | None) -> int | None:
    """Return the shorter of two times; None is without end."""
    return min((ms for ms in (one, other) if ms is not None), default=None)
