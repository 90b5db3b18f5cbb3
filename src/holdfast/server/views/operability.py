"""Findings, snapshots, timelines and layouts as replies show them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from msgspec import UNSET, UnsetType, field
from msgspec.structs import replace

from holdfast.model import names
from holdfast.model.findings import Finding, Level
from holdfast.model.graphs import Edge, Member
from holdfast.model.redaction import hide_secrets
from holdfast.model.services import ServiceProcess, ServiceStatus
from holdfast.model.snapshots import QueueDepth, Snapshot
from holdfast.operate import layout
from holdfast.operate.axis import Part
from holdfast.operate.layered import Drawing
from holdfast.operate.layout import Layout, Node
from holdfast.operate.spans import Span, Spans
from holdfast.operate.timeline import Bar, Mark, Timeline
from holdfast.server.auth import shown
from holdfast.server.views.drawings import Points, SizeView, rounded, size_of
from holdfast.server.views.executions import ExecutionView
from holdfast.server.views.fields import View
from holdfast.server.views.seen import Words
from holdfast.server.views.times import optional, rfc3339
from holdfast.server.views.workers import WorkerView


class FindingView(View):
    """The result of one check of the doctor."""

    check: str
    level: Level
    text: str
    #: How to fix it.
    fix: str | UnsetType = UNSET

    @classmethod
    def of(cls, finding: Finding) -> FindingView:
        """Show a finding."""
        return cls(
            check=finding.check,
            level=finding.level,
            text=hide_secrets(finding.text),
            fix=UNSET if finding.fix is None else hide_secrets(finding.fix),
        )


class FindingsView(View):
    """The findings of the doctor, starting with the server of the store."""

    findings: list[FindingView]


class LaneCounts(View):
    """The executions of a lane by state."""

    lane: str
    #: open, paused or draining.
    setting: str
    counts: dict[str, int]


class QueueDepthView(View):
    """The messages of a queue that have not been settled, in all of its groups."""

    name: str
    tenant: str
    mode: str
    paused: bool
    ready: int
    delayed: int
    in_flight: int
    dead: int

    @classmethod
    def of(cls, depth: QueueDepth) -> QueueDepthView:
        """Show the depth of a queue."""
        tenant, name = names.parse(depth.queue)
        return cls(
            name=name,
            tenant=tenant,
            mode=depth.mode,
            paused=depth.paused,
            ready=depth.ready,
            delayed=depth.delayed,
            in_flight=depth.in_flight,
            dead=depth.dead,
        )


class ServiceView(View):
    """A service of a process."""

    name: str
    #: False while it waits to be restarted.
    running: bool
    #: How often it has stopped unexpectedly since the process started.
    restarts: int
    #: Why it stopped last, and when.
    last_error: str | None
    last_error_at: str | None

    @classmethod
    def of(cls, service: ServiceStatus) -> ServiceView:
        """Show a service."""
        error = service.last_error
        return cls(
            name=service.name,
            running=service.running,
            restarts=service.restarts,
            last_error=None if error is None else hide_secrets(error),
            last_error_at=optional(service.last_error_at),
        )


class ServiceProcessView(View):
    """A process that runs services."""

    name: str
    services: list[ServiceView]

    @classmethod
    def of(cls, process: ServiceProcess) -> ServiceProcessView:
        """Show a process."""
        return cls(
            name=process.name, services=[ServiceView.of(service) for service in process.services]
        )


class SnapshotView(View):
    """The activity of the store. A key of one tenant sees only that tenant's data."""

    #: Executions by state.
    counts: dict[str, int]
    lanes: list[LaneCounts]
    #: Message queues by name, the first 100.
    queues: list[QueueDepthView]
    #: Whether there are more queues.
    more_queues: bool
    #: The oldest waiting execution, to within half a second.
    oldest_waiting: ExecutionView | None
    #: Live workers, the first 1,000.
    workers: list[WorkerView]
    #: Whether there are more workers.
    more_workers: bool
    #: Processes and the services they run; empty for a key of one tenant.
    services: list[ServiceProcessView]

    @classmethod
    def of(cls, snapshot: Snapshot) -> SnapshotView:
        """Show a snapshot."""
        oldest = snapshot.oldest
        return cls(
            counts={state.value: count for state, count in snapshot.counts.items()},
            lanes=[
                LaneCounts(
                    lane=lane,
                    setting=snapshot.settings.get(lane, "open"),
                    counts={state.value: count for state, count in counts.items()},
                )
                for lane, counts in sorted(snapshot.lanes.items())
            ],
            queues=[QueueDepthView.of(depth) for depth in snapshot.queues],
            more_queues=snapshot.more_queues,
            oldest_waiting=None if oldest is None else ExecutionView.of(oldest),
            workers=[WorkerView.of(worker) for worker in snapshot.workers],
            more_workers=snapshot.more_workers,
            services=[ServiceProcessView.of(process) for process in snapshot.services],
        )


class BarView(View):
    """An attempt on the timeline."""

    index: int
    kind: str
    worker: str
    started_at: str
    #: Null while it runs.
    ended_at: str | None
    #: How it ended in words, with its error; `running` while it runs.
    outcome: Words
    #: Where it starts and ends: 0 at the start of the timeline, 1 at its end.
    start: float
    end: float

    @classmethod
    def of(cls, timeline: Timeline, bar: Bar) -> BarView:
        """Show an attempt."""
        attempt = bar.attempt
        return cls(
            index=attempt.index,
            kind=attempt.kind,
            worker=attempt.worker,
            started_at=rfc3339(attempt.started_at),
            ended_at=optional(attempt.ended_at),
            outcome=bar.outcome,
            start=round(timeline.share(bar.start), 6),
            end=round(timeline.share(bar.end), 6),
        )


class MarkView(View):
    """A recorded step on the timeline."""

    step: str
    at: str
    #: Where it is: 0 at the start of the timeline, 1 at its end.
    position: float

    @classmethod
    def of(cls, timeline: Timeline, mark: Mark) -> MarkView:
        """Show a step."""
        return cls(step=mark.step, at=rfc3339(mark.at), position=round(timeline.share(mark.at), 6))


class AxisPartView(View):
    """A part of the axis of `spans`, drawn on one scale."""

    since: str
    until: str
    #: Where it starts and ends: 0 at the start of the axis, 1 at its end.
    start: float
    end: float
    #: Whether it is idle time that takes less room than its length.
    folded: bool
    #: How long it lasts.
    ms: int

    @classmethod
    def of(cls, part: Part) -> AxisPartView:
        """Show a part."""
        return cls(
            since=rfc3339(part.since),
            until=rfc3339(part.until),
            start=round(part.start, 6),
            end=round(part.end, 6),
            folded=part.folded,
            ms=_ms(part.length),
        )


class SpanView(View):
    """Something that took time."""

    #: queue, delay, wait, limit, run, step or child.
    type: str
    label: str
    #: In which row to draw it, from 0.
    row: int
    since: str
    #: Null while it lasts.
    until: str | None
    #: Where it starts and ends on the axis, which folds idle time.
    start: float
    end: float
    ms: int
    #: How it ended, or the state of a child; `running` while it lasts.
    state: str
    #: More about it in words: the worker of a run, or its error.
    text: Words
    #: The execution that it is about, if it is another.
    execution: str | None
    #: What a step used, such as tokens, if its result says so.
    usage: dict[str, int]

    @classmethod
    def of(cls, spans: Spans, span: Span) -> SpanView:
        """Show a span."""
        end = spans.end(span)
        return cls(
            type=span.type,
            label=span.label,
            row=span.row,
            since=rfc3339(span.since),
            until=optional(span.until),
            start=round(spans.axis.place(span.since), 6),
            end=round(spans.axis.place(end), 6),
            ms=_ms(end - span.since),
            state=span.state,
            text=span.text,
            execution=shown.own_or_none(span.execution),
            usage=dict(span.usage),
        )


def _ms(length: timedelta) -> int:
    return max(round(length.total_seconds() * 1000), 0)


class TimelineView(View):
    """From the creation of an execution to the end of its last attempt, or to now.

    `bars` and `marks` are on a linear scale. `spans` are on `axis`, which folds idle time.
    """

    start: str
    end: str
    #: Attempts, oldest first.
    bars: list[BarView]
    #: Steps in the order of recording.
    marks: list[MarkView]
    #: The parts of the axis of `spans`, in order.
    axis: list[AxisPartView]
    #: Time in line, held, running, in steps and in children.
    spans: list[SpanView]
    #: How many rows the spans take.
    rows: int
    #: The share of the axis on which the execution or a child was running.
    work_share: float
    #: Whether there are more children than are shown.
    more_children: bool

    @classmethod
    def of(cls, timeline: Timeline, spans: Spans, *, more_children: bool) -> TimelineView:
        """Show a timeline."""
        return cls(
            axis=[AxisPartView.of(part) for part in spans.axis.parts],
            spans=[SpanView.of(spans, span) for span in spans.spans],
            rows=spans.rows,
            work_share=round(spans.work_share, 6),
            more_children=more_children,
            start=rfc3339(timeline.start),
            end=rfc3339(timeline.end),
            bars=[BarView.of(timeline, bar) for bar in timeline.bars],
            marks=[MarkView.of(timeline, mark) for mark in timeline.marks],
        )


class WaterfallView(View):
    """What members of a graph did when, below each other."""

    axis: list[AxisPartView]
    spans: list[SpanView]
    #: Whether there are more members than are shown.
    more: bool

    @classmethod
    def of(cls, spans: Spans, *, more: bool) -> WaterfallView:
        """Show members."""
        return cls(
            axis=[AxisPartView.of(part) for part in spans.axis.parts],
            spans=[SpanView.of(spans, span) for span in spans.spans],
            more=more,
        )


class NodeView(View):
    """A member and its position."""

    key: str
    id: str
    kind: str
    state: str
    #: From 0; members of layer 0 wait for no others.
    layer: int
    #: From 0, in its layer.
    place: int
    #: The middle of its box, and how large that is.
    x: float
    y: float
    w: float
    h: float

    @classmethod
    def of(cls, node: Node, drawing: Drawing) -> NodeView:
        """Show a member."""
        member = node.member
        x, y = drawing.spots[member.key]
        return cls(
            x=round(x, 1),
            y=round(y, 1),
            w=layout.BOX[0],
            h=layout.BOX[1],
            key=member.key,
            id=shown.own(member.id),
            kind=member.kind,
            state=member.state,
            layer=node.layer,
            place=node.place,
        )


class DrawnEdgeView(View):
    """One member waits for the end of another, and how to draw it."""

    source: str = field(name="from")
    target: str = field(name="to")
    on: str
    #: From the middle of a member to that of another.
    points: Points
    input: str | UnsetType = UNSET

    @classmethod
    def of(cls, edge: Edge, drawing: Drawing) -> DrawnEdgeView:
        """Show an edge."""
        return cls(
            source=edge.source,
            target=edge.target,
            on=edge.on,
            input=edge.input or UNSET,
            points=rounded(drawing.arrows[edge.source, edge.target]),
        )


class LayoutView(View):
    """Where to draw the members of a graph; every edge goes to a later layer."""

    #: Members, each after those it waits for.
    nodes: list[NodeView]
    edges: list[DrawnEdgeView]
    size: SizeView
    #: Only changes of shape bump it, so the positions hold as long as it stays the same.
    revision: int
    #: How many layers there are, and how many members the largest has.
    layers: int
    width: int

    @classmethod
    def of(cls, found: Layout, drawing: Drawing, revision: int) -> LayoutView:
        """Show a layout."""
        return cls(
            nodes=[NodeView.of(node, drawing) for node in found.nodes],
            edges=[DrawnEdgeView.of(edge, drawing) for edge in found.edges],
            layers=found.layers,
            width=found.width,
            size=size_of(drawing.width, drawing.height),
            revision=revision,
        )

    def now(self, members: Mapping[str, Member]) -> LayoutView:
        """Return the same layout with the states that the members have now."""
        nodes = [
            node if node.state == (state := members[node.key].state) else replace(node, state=state)
            for node in self.nodes
        ]
        return replace(self, nodes=nodes)
