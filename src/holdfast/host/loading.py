"""Packs as conversations and jobs of an app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.errors import FlowNotFound
from holdfast.host import entries
from holdfast.host.directing import directives_of
from holdfast.host.flows.declaring import declare_flow, declare_job
from holdfast.host.flows.interpreter import Flows
from holdfast.host.flows.known import Known, operations
from holdfast.host.flows.lint import lint_files, refuse
from holdfast.host.flows.model import CONVERSING, Flow, FlowType
from holdfast.host.flows.runners import Runners
from holdfast.host.flows.spending import budgets_of
from holdfast.host.packs import Bundle, Pack
from holdfast.host.packs import problems as pack_problems
from holdfast.host.packs.definition import FlowFile
from holdfast.model import bounds
from holdfast.model import entries as entry_names
from holdfast.worker.app import App
from holdfast.worker.conversation import Conversation
from holdfast.worker.task import Task


def name_of(pack: Pack, flow: str) -> str:
    """Return the name of the conversation or task that an entry flow is. No two are the same."""
    return entry_names.name_of(pack.id, flow)


@dataclass(frozen=True, slots=True)
class LoadedPack:
    """The flows of a main pack and its overlays, declared in an app."""

    bundle: Bundle
    flows: Flows
    #: By the id of the flow.
    conversations: Mapping[str, Conversation[Any, Any, Any]]
    jobs: Mapping[str, Task[Any, Any, Any]]

    def resolve(
        self,
        *,
        pack: str | None = None,
        flow: str | None = None,
        type: FlowType | None = None,  # noqa: A002 - its name
    ) -> Task[Any, Any, Any]:
        """Return the conversation or job that a message starts.

        Raises FlowNotFound and AmbiguousFlow, which see `entries.resolve`.
        """
        _, file = entries.resolve(self.bundle.packs, pack=pack, flow=flow, type=type)
        return self.conversations.get(file.id) or self.jobs[file.id]

    def conversation(self, flow: str | None = None) -> Conversation[Any, Any, Any]:
        """Return the conversation that a flow is; by default that of the pack's entry."""
        task = self.resolve(flow=flow)
        if not isinstance(task, Conversation):
            message = f"the flow `{task.name.partition(':')[2]}` is a job, and has no conversation"
            raise FlowNotFound(message)
        return task


def read_flows(bundle: Bundle, runners: Runners) -> Flows:
    """Return the flows of packs, checked and ready to run; raises InvalidPack.

    The flows of each pack may use the secrets and the hosts of their own pack only, and the
    components, providers and models of all.
    """
    flows: dict[str, Flow] = {}
    for pack in bundle.packs:
        files = {file.path: pack.files[file.path] for file in pack.definition.flows.values()}
        found, problems = lint_files(files, runners.within(_known(bundle, pack)))
        refuse(problems)
        flows |= found
    return Flows(flows, runners, checked=True)


def _known(bundle: Bundle, pack: Pack) -> Known:
    names = {name: list(one.operations) for name, (_, one) in bundle.components.items()}
    others = frozenset(bundle.flows) - frozenset(pack.definition.flows)
    return Known(
        components=operations(names),
        providers={name: frozenset(one.operations) for name, (_, one) in bundle.providers.items()},
        models=frozenset(bundle.models),
        secrets=frozenset(pack.definition.secrets),
        http_allow=frozenset(pack.definition.http_allow),
        flows=others,
    )


def declare_pack(
    app: App,
    bundle: Bundle,
    runners: Runners,
    *,
    requires: Sequence[str] | None = None,
    spends: bool = True,
) -> LoadedPack:
    """Declare the entry flows of packs in an app: conversations, or tasks for flows without one.

    They are named PACK:FLOW. Internal flows are reached from other flows only. Workers of the app
    need the capabilities `requires`, by default those that each pack requires. The budgets that
    `llm` nodes name pay for the flows that lead to them, unless nothing `spends`, because models
    are fakes. Raises InvalidPack.
    """
    flows = read_flows(bundle, runners)
    main = bundle.main.definition
    direct = directives_of(bundle, runners)
    conversations: dict[str, Conversation[Any, Any, Any]] = {}
    jobs: dict[str, Task[Any, Any, Any]] = {}
    for pack, file in bundle.flows.values():
        if not file.is_entry:
            continue
        name = _checked_name(pack, file)
        routed = direct if pack is bundle.main and file.id == main.entry else None
        starts = {file.id, *(routed.targets if routed else ())}
        if main.welcome is not None and file.type in CONVERSING:
            starts.add(main.welcome)
        budgets = budgets_of(flows.flows, starts) if spends else []
        needed = pack.definition.requires if requires is None else requires
        if file.type in CONVERSING:
            conversations[file.id] = declare_flow(
                app,
                flows,
                file.id,
                name=name,
                busy=main.busy.value,
                welcome=main.welcome,
                direct=routed,
                requires=needed,
                budgets=budgets,
            )
        else:
            jobs[file.id] = declare_job(
                app, flows, file.id, name=name, requires=needed, budgets=budgets
            )
    _declare_schedules(app, bundle, jobs)
    return LoadedPack(bundle, flows, conversations, jobs)


def _checked_name(pack: Pack, file: FlowFile) -> str:
    name = name_of(pack, file.id)
    if len(name) > bounds.NAME_CHARS:
        message = (
            f"the ids of the pack `{pack.id}` and its flow `{file.id}` have more than "
            f"{bounds.NAME_CHARS - 1} characters together"
        )
        pack_problems.refuse(pack_problems.Problem.INVALID_FIELD, message, file=file.path)
    return name


def _declare_schedules(app: App, bundle: Bundle, jobs: Mapping[str, Task[Any, Any, Any]]) -> None:
    for pack in bundle.packs:
        for number, plan in enumerate(pack.definition.schedules):
            task = jobs.get(plan.flow)
            if task is None:
                message = f"the flow `{plan.flow}` has a schedule, but is no job that can have one"
                pack_problems.refuse(pack_problems.Problem.INVALID_FIELD, message)
            name = f"{name_of(pack, plan.flow)}:{number}"
            app.schedule(cron=plan.cron, timezone=plan.timezone, id=name)(task)
