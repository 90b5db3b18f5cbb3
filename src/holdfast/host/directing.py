"""The `routing` of a pack: rules, then a component, decide what is done with a message.

The decision is a step of the conversation that the message starts. It is made on the revision that
answers, within its time, and later attempts read it from the journal.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.host.flows.directives import Directive
from holdfast.host.flows.expressions import ExpressionFailed
from holdfast.host.flows.lint import refuse
from holdfast.host.flows.model import CONVERSING
from holdfast.host.flows.problems import Problems
from holdfast.host.flows.progress import FlowFailed, bounded
from holdfast.host.flows.runners import Answer, ComponentCall, NodeFailed, Runners
from holdfast.host.flows.stages import Stage, invocation
from holdfast.host.packs import Bundle
from holdfast.host.packs import problems as pack_problems
from holdfast.host.packs.definition import ROUTE, Routing
from holdfast.host.rules import read_rules
from holdfast.model.directives import Act
from holdfast.model.hints import did_you_mean
from holdfast.worker.messages import ChatMessage

log: logging.Logger = logging.getLogger(__name__)

STEP = "routing"
FAILED = "routing_failed"
#: A component's answer that is none of the four directives.
INVALID = "invalid_directive"
_FAIL = "fail"
_FAILURE_CHARS = 500


class Directives:
    """Decides about the messages that start the entry of a pack."""

    def __init__(self, bundle: Bundle, routing: Routing, runners: Runners) -> None:
        self._bundle = bundle
        self._routing = routing
        self._run = runners.call
        problems = Problems()
        self._rules = read_rules(routing, problems)
        refuse(problems.in_order())
        targets = [self._checked(rule.target) for rule in self._rules if rule.target is not None]
        #: The flows that a message can be sent to; a component can choose any.
        self.targets: frozenset[str] = frozenset(
            targets if routing.component is None else bundle.flows
        )

    async def __call__(self, stage: Stage, message: ChatMessage) -> Directive:
        """Return the decision about a message; raises FlowFailed if `on_error` is `fail`."""

        async def make() -> Any:
            return msgspec.to_builtins(await self._decided(stage, message))

        directive = msgspec.convert(await stage.step(STEP, make), Directive)
        if directive.failure is not None and self._routing.on_error == _FAIL:
            raise FlowFailed(FAILED, directive.failure)
        return directive

    async def _decided(self, stage: Stage, message: ChatMessage) -> Directive:
        """Decide within the time; after a failure the message continues."""
        budget_ms = self._routing.budget_ms
        try:
            async with asyncio.timeout(budget_ms / 1000):
                return await self._decide(stage, message)
        except TimeoutError:
            failure = f"routing took longer than {budget_ms} ms"
        except (NodeFailed, ExpressionFailed) as error:
            failure = f"routing failed with {error.code}: {error}"
        except Exception as error:  # noqa: BLE001 - whatever fails, `on_error` says what follows
            # Its message may hold anything, such as a secret.
            failure = f"routing failed ({type(error).__name__})"
        log.warning("pack %s: %s", self._bundle.main.id, failure)
        return Directive(Act.CONTINUE, failure=failure[:_FAILURE_CHARS])

    async def _decide(self, stage: Stage, message: ChatMessage) -> Directive:
        scope = _scope(stage, message)
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + self._routing.budget_ms / 1000
        for number, rule in enumerate(self._rules, 1):
            # Nothing interrupts an expression, so the time is checked between two of them.
            if loop.time() > ends_at:
                raise TimeoutError
            if rule.when.expression.holds(scope):
                return self._read(rule.applied(scope), f"rule {number}")
        component = self._routing.component
        if component is None:
            return Directive(Act.CONTINUE)
        left_ms = max(1, int((ends_at - loop.time()) * 1000))
        answer = await self._ask(component, stage, scope, left_ms)
        return self._read(answer, f"component {component}")

    async def _ask(
        self, component: str, stage: Stage, scope: Mapping[str, Any], left_ms: int
    ) -> Any:
        """Return what the component says about a message."""
        if self._run is None:
            raise NodeFailed("unknown_component", "this host runs no components")
        entry = self._bundle.main.definition.entry or ""
        about = invocation(stage, entry, STEP, STEP, left_ms)
        asked = {name: value for name, value in scope.items() if name != "now"}
        answer = await self._run(
            ComponentCall(component=component, operation=ROUTE, input=asked, about=about)
        )
        if isinstance(answer, Answer):
            raise NodeFailed(INVALID, "a component that routes cannot emit replies")
        return answer

    def _read(self, answer: Any, by: str) -> Directive:
        """Return the directive that a rule or a component gave; raises NodeFailed."""
        if answer is None or answer == {Act.CONTINUE.value: True}:
            return Directive(Act.CONTINUE, by=by)
        acts = [act for act in Act if isinstance(answer, dict) and act.value in answer]
        if len(acts) != 1 or acts == [Act.CONTINUE]:
            message = f"{by} gave none of continue, dispatch, respond and deny"
            raise NodeFailed(INVALID, message)
        value, entities = answer[acts[0].value], answer.get("entities")
        if not isinstance(value, str) or not value.strip():
            raise NodeFailed(INVALID, f"{by}: `{acts[0]}` must be a text that is not empty")
        bounded(answer, "a directive")
        if acts == [Act.DISPATCH]:
            if not isinstance(entities, dict | None):
                raise NodeFailed(INVALID, f"{by}: `entities` must be a mapping")
            return Directive(Act.DISPATCH, flow=self._flow(value), entities=entities, by=by)
        return Directive(acts[0], text=value, by=by)

    def _flow(self, target: str) -> str:
        """Return the flow that FLOW or PACK/FLOW means; raises NodeFailed."""
        pack, _, name = target.rpartition("/")
        found = self._bundle.flows.get(name)
        if found is None or (pack and found[0].id != pack):
            hint = did_you_mean(name, list(self._bundle.flows))
            raise NodeFailed("flow_not_found", f"there is no flow `{target}` here ({hint})")
        if found[1].type not in CONVERSING:
            raise NodeFailed("flow_not_found", f"the flow `{target}` has no conversation")
        return name

    def _checked(self, target: str) -> str:
        """Return the flow that a rule dispatches to; raises InvalidPack if no pack has it."""
        try:
            return self._flow(target)
        except NodeFailed as failure:
            message = f"`dispatch` of a rule: {failure}"
            pack_problems.refuse(pack_problems.Problem.UNKNOWN_NAME, message)


def directives_of(bundle: Bundle, runners: Runners) -> Directives | None:
    """Return what decides about messages to the entry of packs; raises InvalidPack."""
    routing = bundle.main.definition.routing
    return None if routing is None else Directives(bundle, routing, runners)


def _scope(stage: Stage, message: ChatMessage) -> dict[str, Any]:
    place = stage.place
    return {
        "input": dict(message.payload),
        "activity": {
            "id": message.id,
            "kind": message.kind,
            "endpoint": place.endpoint,
            "conversation": place.conversation,
            "user": place.user,
        },
        "user": {"id": place.user},
        "tenant": place.tenant,
        "env": place.env,
        "now": stage.clock(),
    }
