"""Rehearsals: sessions at any line of their transcripts, and what would follow."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from holdfast import errors
from holdfast.host.simulator.moments import Moment, Rehearsed, rehearse
from holdfast.host.simulator.rehearsal import Happening, Visit
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.server.auth.owners import SESSION
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Bare, Routes
from holdfast.server.views.fields import Body, Query, View
from holdfast.server.views.seen import PayloadObject

routes: Routes = Routes("rehearsals", "Sessions at any line, and what might follow.")

LineNumber = Annotated[int, Meta(ge=1, le=bounds.AMOUNT)]
_MOST_STEPS = 200
Steps = Annotated[tuple[dict[str, Any], ...], Meta(max_length=_MOST_STEPS)]
_ERRORS = (errors.FlowNotFound, errors.PackNotFound)


class VisitView(View):
    """A node of a flow."""

    flow: str
    node: str

    @classmethod
    def of(cls, visit: Visit) -> VisitView:
        """Show a node."""
        return cls(flow=visit.flow, node=visit.node)


class MomentView(View):
    """Where a conversation was."""

    #: The last line of the transcript that had been written; 0 for what is rehearsed.
    line: int
    #: The node that ran, or at which the flow waited; null before the first.
    at: VisitView | None
    #: The variables, by name.
    vars: PayloadObject
    #: The names of variables that changed since the line before.
    changed: list[str]
    #: The nodes that had run, in order.
    path: list[VisitView]

    @classmethod
    def of(cls, moment: Moment) -> MomentView:
        """Show a moment."""
        return cls(
            line=moment.line,
            at=None if moment.at is None else VisitView.of(moment.at),
            vars=dict(moment.vars),
            changed=list(moment.changed),
            path=[VisitView.of(visit) for visit in moment.path],
        )


class MomentQuery(Query):
    """Which line; by default the last one."""

    line: LineNumber | None = None


@routes.get("/v1/sessions/{id}/moment", owner=SESSION, errors=_ERRORS, query_example={"line": "1"})
async def read(call: Call, id: str, query: MomentQuery) -> MomentView:
    """Read where the flow of a session was when a line had been written, and its variables.

    The flow runs again in memory, from what is recorded; so this is exact, and changes nothing. A
    conversation of workers has no flow: `flow_not_found`.
    """
    session = await call.engine.sessions.get(id)
    return MomentView.of((await rehearse(call.engine, session, line=query.line)).moment)


class RehearseBody(Body):
    """What people say after a line."""

    #: The last line that counts; by default the last one of the transcript.
    line: LineNumber | None = None
    #: As in tests of packs: `say`, `click`, `form`, `event`, `approve`, `deny`, `advance`.
    steps: Steps = ()
    #: Answers to calls that have none yet, as in tests of packs.
    fakes: Steps = ()
    #: The name of the test.
    name: Annotated[str, Meta(min_length=1, max_length=bounds.NAME_CHARS)] = "rehearsed"


class HappeningView(View):
    """Something that happened in a rehearsal."""

    #: The step that did it; null for a reply.
    act: dict[str, Any] | None
    #: The message or the reply.
    payload: dict[str, Any]

    @classmethod
    def of(cls, happening: Happening) -> HappeningView:
        """Show what happened."""
        return cls(act=happening.act, payload=dict(happening.payload))


class RehearsedView(View):
    """What came of a rehearsal."""

    moment: MomentView
    #: `waiting` for a message, for an `approval`, `ended` or `failed`.
    status: str
    #: Why the flow failed, or which call has no answer; empty if neither.
    problem: str
    #: What was said and answered after the line.
    happened: list[HappeningView]
    #: All of it as a test of the pack, in YAML.
    test: str

    @classmethod
    def of(cls, found: Rehearsed) -> RehearsedView:
        """Show a rehearsal."""
        return cls(
            moment=MomentView.of(found.moment),
            status=found.status.value,
            problem=found.problem,
            happened=[HappeningView.of(one) for one in found.happened],
            test=found.test,
        )


@routes.post(
    "/v1/sessions/{id}/rehearse",
    role=Role.OPERATOR,
    owner=SESSION,
    errors=_ERRORS,
    changes_store=False,
    # A test with parts redacted would be another test.
    bare=Bare.EXACT,
    example={"line": 1, "steps": [{"say": "hello"}]},
)
async def try_out(call: Call, id: str, body: RehearseBody) -> RehearsedView:
    """Run a session again up to a line, then let people say something else; as a test, too.

    Nothing is written, and nobody is called: what was recorded answers calls that were made before,
    and `fakes` answer others. `test` has all of it for `holdfast pack test`.
    """
    session = await call.engine.sessions.get(id)
    found = await rehearse(
        call.engine, session, line=body.line, steps=body.steps, given=body.fakes, name=body.name
    )
    return RehearsedView.of(found)
