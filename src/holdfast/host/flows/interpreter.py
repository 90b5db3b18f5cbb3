"""Runs flows as conversations of the SDK.

A flow is a loop over nodes. Nodes that reach out are journaled steps, `wait` and `ask` receive
messages, `emit` says, `approval` is a waitpoint; all else is computed again from the journal. At a
wait the conversation starts again with (flows, node, variables) and an empty journal as soon as the
journal has some steps, so that a long conversation costs no more than a short one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from holdfast.host.flows.directives import CONTINUE, Direct
from holdfast.host.flows.known import Known
from holdfast.host.flows.lint import check_flows, lint_files, refuse
from holdfast.host.flows.model import (
    Flow,
)
from holdfast.host.flows.pacing import Pace
from holdfast.host.flows.problems import Problems
from holdfast.host.flows.progress import (
    FlowFailed,
    Frame,
    unpacked,
)
from holdfast.host.flows.run import Run
from holdfast.host.flows.runners import Runners
from holdfast.host.flows.stages import BranchStage, ChatStage, Stage, Talking, TaskStage
from holdfast.host.flows.uses import outputs_used, refuse_tenant_state, uses_of
from holdfast.host.flows.watching import Nobody, Watcher
from holdfast.model.directives import MARK
from holdfast.worker.chat import Chat
from holdfast.worker.context import Context

#: A conversation starts again at the first wait after this many entries of its journal.
STEPS_KEPT = 24

#: Takes a conversation that waits at frames, and continues with a state, to another revision.
Mover: TypeAlias = Callable[[Chat, Sequence[Frame], Mapping[str, Any]], Awaitable[None]]


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
        #: A host gives all its flows the same, so that none holds the others up.
        self.pace: Pace = Pace()
        #: Takes conversations to another revision; None: they stay.
        self.mover: Mover | None = None
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
        if self.runners.state is None:
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
        run = Run(self, stage, None, None)
        run.enter(entry, given)
        result = await run.to_the_end()
        return {"result": result, "replies": stage.replies}

    async def converse(
        self,
        chat: Chat,
        entry: str,
        state: Any = None,
        *,
        welcome: str | None = None,
        direct: Direct | None = None,
    ) -> Any:
        """Run the entry flow as a conversation, or continue one; returns its result.

        `direct` may send the message that starts it to another flow, or answer it. The `welcome`
        flow replaces the first flow for a user who is new at the endpoint.
        """
        stage = ChatStage(chat)
        return await self.talk(stage, entry, state, chat=chat, welcome=welcome, direct=direct)

    async def talk(
        self,
        stage: Talking,
        entry: str,
        state: Any = None,
        *,
        chat: Chat | None = None,
        welcome: str | None = None,
        direct: Direct | None = None,
    ) -> Any:
        """Converse on a stage. Without a chat, the conversation cannot start again or move."""
        kept = None if state is None else unpacked(state)
        for frame in kept.frames if kept else ():
            if frame.flow not in self.flows or frame.node not in self.flows[frame.flow].nodes:
                problem = f"there is no node {frame.node} in flow {frame.flow} any more"
                raise FlowFailed("flow_changed", problem)
        run = Run(self, stage, kept, chat)
        self.watcher.began(run.state)
        if state is None:
            message = await stage.receive(None)
            run.begin(message)
            directive = CONTINUE if direct is None else await direct(stage, message)
            if directive.answers:
                mark = {MARK: directive.act.value}
                await stage.say({"text": directive.text, "data": mark})
                return mark
            first = directive.flow or entry
            if welcome is not None and await stage.welcomes():
                first = welcome
                run.on_park = partial(stage.welcomes, done=True)
            run.enter(first, directive.given(message.payload))
        result = await run.to_the_end()
        await run.park()
        return result

    async def branch(self, flow: str, given: Any, stage: Stage, prefix: str) -> dict[str, Any]:
        """Run a flow inside a step of another one."""
        inner = BranchStage(stage, prefix, stage.clock())
        run = Run(self, inner, None, None)
        run.enter(flow, given)
        return {"ok": await run.to_the_end(), "replies": inner.replies}
