"""Views of envs, packs, deployments, revisions and splits."""

from __future__ import annotations

from typing import Any

from holdfast.model.deployments import (
    Deployment,
    DeploymentEvent,
    RouteCandidate,
    RouteExplanation,
    Split,
    SplitEntry,
)
from holdfast.model.envs import Env
from holdfast.model.figures import Figures
from holdfast.model.forecasts import Forecast
from holdfast.model.guards import Guards
from holdfast.model.packs import PackEntries, StoredPack
from holdfast.model.revisions import Gate, Need, Revision
from holdfast.model.rollouts import Rollout, Step
from holdfast.server.auth import shown
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import View


class EnvView(ModelView, model=Env):
    """An env."""


class EnvPage(View):
    """All envs, by name."""

    items: list[EnvView]
    next_cursor: str | None = None


class PackView(ModelView, model=StoredPack):
    """A pack that was uploaded."""


class PackPage(View):
    """A page of packs, by tenant and digest."""

    items: list[PackView]
    next_cursor: str | None


class EntryView(ModelView, model=SplitEntry):
    """A share of the new sessions."""


class SplitView(ModelView, model=Split):
    """How new sessions are divided between revisions."""

    entries: list[EntryView]

    @classmethod
    def of(cls, split: Split) -> SplitView:
        """Show a split."""
        return cls.copy(split, entries=[EntryView.of(entry) for entry in split.entries])


class GateView(ModelView, model=Gate):
    """A check that a revision passed, or not."""


class PackEntriesView(ModelView, model=PackEntries):
    """What messages can start in a pack."""

    #: The types of the flows that a message can start, by id.
    flows: dict[str, str]

    @classmethod
    def of(cls, pack: PackEntries) -> PackEntriesView:
        """Show what a pack offers."""
        return cls.copy(pack, flows=dict(pack.flows))


class RevisionView(ModelView, model=Revision):
    """A revision, and how many executions need it."""

    #: What the host gives to the pack besides secrets.
    config: dict[str, Any]
    gates: list[GateView]
    #: What messages can start, in the pack and its overlays.
    entries: list[PackEntriesView]

    @classmethod
    def of(cls, revision: Revision) -> RevisionView:
        """Show a revision."""
        gates = [GateView.of(gate) for gate in revision.gates]
        entries = [PackEntriesView.of(pack) for pack in revision.entries]
        return cls.copy(revision, config=dict(revision.config), gates=gates, entries=entries)


class NeedView(ModelView, model=Need):
    """An execution that needs a revision."""


class NeedPageView(View):
    """A page of executions that need a revision."""

    items: list[NeedView]
    next_cursor: str | None


class ForecastView(ModelView, model=Forecast):
    """When nothing needs a revision any more, if nothing new starts on it."""


class FiguresView(ModelView, model=Figures):
    """How the turns of a revision ended, and how long they took."""


class StepView(ModelView, model=Step):
    """A share of the new sessions, and how long it lasts."""


class GuardsView(ModelView, model=Guards):
    """What the new revision may do worse than the old one."""


class RolloutView(ModelView, model=Rollout, hide=("earlier",)):
    """A rollout of a revision."""

    steps: list[StepView]
    guards: GuardsView
    #: The split before, which an abort returns to.
    before: list[EntryView]
    #: The turns of the new revision in this step, and those of the old ones.
    new: FiguresView | None
    old: FiguresView | None
    #: The id of the execution that carries it out.
    execution: str

    @classmethod
    def of(cls, rollout: Rollout) -> RolloutView:
        """Show a rollout."""
        return cls.copy(
            rollout,
            steps=[StepView.of(step) for step in rollout.steps],
            guards=GuardsView.of(rollout.guards),
            before=[EntryView.of(entry) for entry in rollout.before],
            new=None if rollout.new is None else FiguresView.of(rollout.new),
            old=None if rollout.old is None else FiguresView.of(rollout.old),
            execution=shown.own(rollout.execution),
        )


class RolloutPage(View):
    """The last rollouts of a deployment, the newest first."""

    items: list[RolloutView]
    next_cursor: str | None = None


class DeploymentView(ModelView, model=Deployment):
    """A deployment with its split and its revisions."""

    split: SplitView
    #: The splits before, the newest first: those that a rollback can return to.
    past: list[SplitView]
    #: In the order in which they were staged.
    revisions: list[RevisionView]

    @classmethod
    def of(cls, deployment: Deployment) -> DeploymentView:
        """Show a deployment."""
        return cls.copy(
            deployment,
            split=SplitView.of(deployment.split),
            past=[SplitView.of(split) for split in deployment.past],
            revisions=[RevisionView.of(revision) for revision in deployment.revisions],
        )


class RouteCandidateView(ModelView, model=RouteCandidate):
    """A revision that a message could go to."""


class RouteView(ModelView, model=RouteExplanation):
    """Where the next message of a session would go, and why."""

    candidates: list[RouteCandidateView]

    @classmethod
    def of(cls, route: RouteExplanation) -> RouteView:
        """Show an explanation."""
        return cls.copy(route, candidates=[RouteCandidateView.of(one) for one in route.candidates])


class DeploymentPageView(View):
    """A page of deployments, by tenant and id."""

    items: list[DeploymentView]
    next_cursor: str | None


class EventView(ModelView, model=DeploymentEvent):
    """Something that happened to a deployment."""


class EventPage(View):
    """What happened to a deployment, the newest first."""

    items: list[EventView]
    next_cursor: str | None = None
