"""Runs flows as conversations of the SDK.

A flow is a loop over nodes. Nodes that reach out are journaled steps, `wait` and `ask` receive
messages, `emit` says, `approval` is a waitpoint; all else is computed again from the journal. At a
wait the conversation starts again with (flows, node, variables) and an empty journal as soon as the
journal has some steps, so that a long conversation costs no more than a short one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.host.flows import answers
from holdfast.host.flows.acting import STEPS, Actor
from holdfast.host.flows.expressions import ExpressionFailed
from holdfast.host.flows.known import Known
from holdfast.host.flows.lint import check_flows, lint_files, refuse
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
    Parallel,
    Retry,
    SetVars,
    SubFlow,
    Wait,
)
from holdfast.host.flows.problems import Problems
from holdfast.host.flows.progress import (
    FlowFailed,
    FlowState,
    Frame,
    Pending,
    Turn,
    bounded,
    packed,
    unpacked,
)
from holdfast.host.flows.runners import NodeFailed, Runners, as_failure
from holdfast.host.flows.scopes import SILENT
from holdfast.host.flows.stages import Approving, BranchStage, ChatStage, Stage, TaskStage
from holdfast.host.flows.templates import Value, as_text
from holdfast.host.flows.uses import outputs_used, refuse_tenant_state, uses_of
from holdfast.host.flows.watching import ON_ERROR, ON_TIMEOUT, Nobody, Watcher, route
from holdfast.worker.chat import Chat
from holdfast.worker.context import Context
from holdfast.worker.messages import ChatMessage
from holdfast.worker.outcomes import WaitTimedOut

#: A conversation starts again at the first wait after this many entries of its journal.
STEPS_KEPT = 24

_NOTHING = object()


class Flows:
    """The flows of a pack, ready to run."""

    def __init__(
        self,
        flows: Mapping[str, Flow],
        runners: Runners | None = None,
        *,
        known: Known | None = None,
        steps_kept: int = STEPS_KEPT,
        checked: bool = False,
    ) -> None:
        self.flows = dict(flows)
        self.runners = runners or Runners()
        #: Sees the nodes that run, in every attempt.
        self.watcher: Watcher = Nobody()
        self.steps_kept = steps_kept
        if not checked:
            problems = Problems()
            check_flows(self.flows.values(), self.runners.within(known), problems)
            refuse(problems.in_order())
        self.uses = {
            (flow.id, node.id): uses_of(node)
            for flow in self.flows.values()
            for node in flow.nodes.values()
        }
        self.used = {
            flow.id: outputs_used(self.uses[flow.id, node] for node in flow.nodes)
            for flow in self.flows.values()
        }
        refuse_tenant_state(self.flows, self.uses)

    @classmethod
    def load(
        cls,
        files: Mapping[str, bytes | str],
        runners: Runners | None = None,
        *,
        known: Known | None = None,
    ) -> Flows:
        """Read the flow files of a pack; raises InvalidPack for the first error."""
        runners = runners or Runners()
        flows, problems = lint_files(files, runners.within(known))
        refuse(problems)
        return cls(flows, runners, checked=True)

    async def work(self, context: Context, entry: str, given: Any) -> dict[str, Any]:
        """Run a flow without a conversation; returns its result and what it emitted."""
        stage = TaskStage(context)
        run = _Run(self, stage, None, None)
        run.enter(entry, given)
        result = await run.to_the_end()
        return {"result": result, "replies": stage.replies}

    async def converse(
        self, chat: Chat, entry: str, state: Any = None, *, welcome: str | None = None
    ) -> Any:
        """Run the entry flow as a conversation, or continue one; returns its result.

        The `welcome` flow replaces it for a user who is new at the endpoint.
        """
        stage = ChatStage(chat)
        kept = None if state is None else unpacked(state)
        for frame in kept.frames if kept else ():
            if frame.flow not in self.flows or frame.node not in self.flows[frame.flow].nodes:
                problem = f"there is no node {frame.node} in flow {frame.flow} any more"
                raise FlowFailed("flow_changed", problem)
        run = _Run(self, stage, kept, chat)
        if state is None:
            message = await stage.receive(None)
            run.begin(message)
            if welcome is not None and await chat.welcomes():
                entry = welcome
                run.on_park = partial(chat.welcomes, done=True)
            run.enter(entry, message.payload)
        result = await run.to_the_end()
        await run.park()
        return result

    async def branch(self, flow: str, given: Any, stage: Stage, prefix: str) -> dict[str, Any]:
        """Run a flow inside a step of another one."""
        inner = BranchStage(stage, prefix, stage.clock())
        run = _Run(self, inner, None, None)
        run.enter(flow, given)
        return {"ok": await run.to_the_end(), "replies": inner.replies}


class _Run:
    """One attempt at a flow and its sub-flows."""

    def __init__(
        self, flows: Flows, stage: Stage, state: FlowState | None, chat: Chat | None
    ) -> None:
        self._flows = flows
        self._stage = stage
        self._chat = chat
        self._state = state or FlowState(frames=[], vars={})
        self._steps = 0
        self._turn = Turn()
        self._payload: Any = {}
        self._activity = {**self._activity_of(None), "kind": "start"}
        #: The inputs of flows that did not wait since they were entered, by depth.
        self._given: dict[int, Any] = {}
        self._result: Any = None
        #: Called once, when the first turn ends.
        self.on_park: Callable[[], Awaitable[object]] | None = None

    # Turns

    async def park(self) -> None:
        """End a turn: the flow waits, or has ended."""
        on_park, self.on_park = self.on_park, None
        if on_park is not None:
            await on_park()

    def begin(self, message: ChatMessage | None) -> None:
        """Begin a turn: what it may use is counted again."""
        self._turn = Turn()
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
        while self._state.frames:
            if self._frame.node == END:
                await self._leave()
                continue
            node = self._flow.nodes[self._frame.node]
            try:
                await self._node(node)
            except (NodeFailed, ExpressionFailed, InvalidInput) as error:
                self._fail(node, as_failure(error))
        return self._result

    async def _leave(self) -> None:
        """End the innermost flow; its result is the output of the node that ran it."""
        result, self._result = self._result, None
        self._given.pop(len(self._state.frames), None)
        self._state.frames.pop()
        if not self._state.frames:
            self._result = result
            return
        self._frame.attempt = 1
        node = self._flow.nodes[self._frame.node]
        try:
            self._finish(node, result, await self._scope(node))
        except (NodeFailed, ExpressionFailed) as error:
            self._fail(node, as_failure(error))

    def _fail(self, node: FlowNode, failure: NodeFailed) -> None:
        """Continue where failures are handled: at `on_error` of this node, or of an outer one."""
        while True:
            frame = self._frame
            if node.on_error is not None:
                self._left(node, ON_ERROR)
                frame.prev = {"error": failure.as_value(), "node": node.id}
                frame.node = node.on_error.name
                return
            self._given.pop(len(self._state.frames), None)
            self._state.frames.pop()
            if not self._state.frames:
                message = f"node {node.id}: {failure}"
                raise FlowFailed(failure.code, message, retryable=failure.retryable) from failure
            frame = self._frame
            node = self._flow.nodes[frame.node]
            retry = node.retry
            if retry and failure.retryable and frame.attempt < retry.max_attempts:
                # The sub-flow starts again, from the beginning.
                frame.attempt += 1
                return

    async def _node(self, node: FlowNode) -> None:
        limits = self._flow.limits
        if self._state.pending is not None:
            await self._received(node)
            return
        self._turn.count_node(limits)
        self._flows.watcher.entered(self._stage.place.execution, self._frame.flow, node.id)
        scope = await self._scope(node)
        if node.when is not None and not node.when.expression.holds(scope):
            self._route(node, scope)
            return
        action = node.action
        if isinstance(action, Wait | Ask):
            await self._wait(node, action, scope)
        elif isinstance(action, SubFlow):
            given = {} if action.input is None else action.input.evaluate(scope)
            bounded(given, "the input of the flow")
            self.enter(action.flow.name, given)
        elif isinstance(action, Goto):
            self._goto(action)
        elif isinstance(action, End):
            result = None if action.result is None else action.result.evaluate(scope)
            self._result = bounded(result, "the result")
            self._set(node.set, scope)
            self._frame.node = END
        elif node.kind in STEPS:
            outcome = await self._attempts(node, scope)
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

    def _goto(self, action: Goto) -> None:
        given = self._given.get(len(self._state.frames), self._payload)
        self._state.frames.pop()
        self.enter(action.flow.name, given, action.node.name if action.node else None)

    # What nodes do

    async def _emit(self, value: Value, scope: dict[str, Any]) -> None:
        activity = value.evaluate(scope)
        if "text" in activity and not isinstance(activity["text"], str):
            activity = {**activity, "text": as_text(activity["text"])}
        await self._say(activity)

    async def _say(self, activity: Mapping[str, Any]) -> None:
        self._turn.count_reply(self._flow.limits)
        await self._stage.say(activity)

    async def _attempts(self, node: FlowNode, scope: dict[str, Any]) -> dict[str, Any]:
        """Run a step until it succeeds or may not be tried again."""
        actor = Actor(self._flows.runners, self._flows, self._stage, flow=self._flow, node=node)
        retry = node.retry or Retry(max_attempts=1)
        attempt = 1
        name = self._step_name(node)
        while True:
            step = name if attempt == 1 else f"{name}~{attempt}"
            outcome = await actor.run(step, scope)
            if "error" not in outcome:
                return outcome
            error = outcome["error"]
            if not error["retryable"] or attempt >= retry.max_attempts:
                raise NodeFailed(
                    error["code"],
                    error["message"],
                    retryable=error["retryable"],
                    details=error["details"],
                )
            longest = max(retry.max_ms, retry.initial_ms)
            delay = min(longest, retry.initial_ms * retry.factor ** (attempt - 1))
            await self._stage.sleep(max(delay, error["retry_after_ms"]))
            attempt += 1
            self._steps += 2

    def _step_name(self, node: FlowNode) -> str:
        self._state.sequence += 1
        self._steps += 1
        return f"{self._state.sequence}.{self._frame.flow}.{node.id}"

    async def _approve(self, node: FlowNode, action: Approval, scope: dict[str, Any]) -> None:
        asked = Approving.of(node.id, action, scope)
        self._steps += 2
        await self.park()
        try:
            decision = await self._stage.decide(asked)
        except WaitTimedOut as error:
            self._time_out(node, action, error)
            return
        self.begin(None)
        self._finish(node, decision, await self._scope(node))

    def _time_out(self, node: FlowNode, action: Wait | Ask | Approval, error: Exception) -> None:
        self.begin(None)
        if action.on_timeout is None:
            raise NodeFailed("timeout", f"node {node.id}: nobody answered in time") from error
        self._left(node, ON_TIMEOUT)
        self._frame.prev = None
        self._frame.node = action.on_timeout.name

    # Waiting for messages

    async def _wait(self, node: FlowNode, action: Wait | Ask, scope: dict[str, Any]) -> None:
        pending = Pending()
        if isinstance(action, Ask):
            pending = Pending(
                question=action.text.text(scope),
                invalid=None if action.invalid is None else action.invalid.text(scope),
                left=action.retries,
            )
            await self._say({"text": pending.question})
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
            try:
                message = await self._stage.receive(action.timeout)
            except WaitTimedOut as error:
                self._time_out(node, action, error)
                return
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
                await self._say({"text": f"{problem} {pending.question}"})
                continue
            self._finish(node, value, await self._scope(node))
            return

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
        scope = self._plain_scope({})
        uses = self._flows.uses[self._frame.flow, node.id]
        if uses.time:
            scope["now"] = await self._stage.now(self._step_name(node) + "@now")
        if uses.session_state:
            self._steps += len(uses.session_state)
            values = {name: await self._stage.state(name) for name in sorted(uses.session_state)}
            known = {name: value for name, value in values.items() if value is not None}
            scope["state"] = {"session": known, "tenant": {}}
        return scope
