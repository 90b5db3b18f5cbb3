"""Moments of a session: where its flow was at a line, and what would follow if people said more."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import yaml

from holdfast.engine import Engine
from holdfast.errors import FlowNotFound, InvalidInput, InvalidPack, RevisionNotFound
from holdfast.host.directing import directives_of
from holdfast.host.flows.interpreter import Flows
from holdfast.host.flows.model import Flow
from holdfast.host.flows.progress import FlowFailed
from holdfast.host.flows.runners import READ_ONLY, Invocation, Runners
from holdfast.host.flows.stages import Place
from holdfast.host.loading import read_flows
from holdfast.host.packs import Bundle, bundle, load_archive
from holdfast.host.packs.signatures import ANYBODY
from holdfast.host.simulator import fakes, reader, recording
from holdfast.host.simulator.rehearsal import Happening, Misfit, Past, Paused, Rehearsal, Visit
from holdfast.host.simulator.script import Action, Fake, Status
from holdfast.model.revisions import Revision, revision_of
from holdfast.model.sessions import Entry, Session, StateValue
from holdfast.worker.messages import opening

_LINES = 1_000
#: Packs by their archives, which never change.
_PACKS: dict[tuple[str, ...], tuple[Bundle, Mapping[str, Flow]]] = {}
_MOST_PACKS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Where a conversation was."""

    #: The last line of the transcript that had been written; of what is rehearsed, 0.
    line: int
    at: Visit | None
    vars: Mapping[str, Any]
    #: The variables that changed since the line before.
    changed: tuple[str, ...]
    #: The nodes that had run, in order.
    path: tuple[Visit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """What came of a rehearsal."""

    #: The one that was asked for, or the last of the rehearsal.
    moment: Moment
    status: Status
    #: Why the flow failed, or which call has no answer, in words.
    problem: str
    #: What was said and answered after the line.
    happened: Sequence[Happening]
    #: All of it as a test of the pack.
    test: str


async def rehearse(
    engine: Engine,
    session: Session,
    *,
    line: int | None = None,
    steps: Sequence[Mapping[str, Any]] = (),
    given: Sequence[dict[str, Any]] = (),
    name: str = "rehearsed",
) -> Rehearsed:
    """Run a session again up to a line, by default the last one, and then what `steps` say.

    Steps and fakes (`given`) are written as in tests of packs. Recorded answers serve calls that
    were made before; other calls need a fake. Nothing is written, and nobody is called. Raises
    FlowNotFound if no flow of a pack answers, and InvalidInput.
    """
    script = _read(steps, given)
    entries = [entry for entry in await _transcript(engine, session.id) if _counts(entry, line)]
    executions = list(dict.fromkeys(one.execution for one in entries if one.execution))
    if not executions:
        raise FlowNotFound(f"no flow has answered in session {session.id} yet")
    *before, last = executions
    values = await engine.sessions.state(session.id)
    scene = _Scene(session, entries[-1], dict(values))
    played = [await _play(engine, scene, one) for one in before]
    final = await _play(engine, scene, last, script)
    rehearsals = [*(one.rehearsal for one in played), final.rehearsal]
    shown = entries[-1].number
    following = [
        one for one in final.rehearsal.happened if min(one.lines, default=shown + 1) > shown
    ]
    test = recording.as_file(
        name,
        final.flow,
        session.key.user,
        [*given, *recording.fakes_of([call for one in rehearsals for call in one.calls])],
        _steps(entries, rehearsals),
    )
    return Rehearsed(
        moment=_moment(final.rehearsal, shown, is_new=bool(steps)),
        status=final.status,
        problem=final.problem,
        happened=following if steps else (),
        test=test,
    )


def _counts(entry: Entry, line: int | None) -> bool:
    return line is None or entry.number <= line


async def _transcript(engine: Engine, session_id: str) -> list[Entry]:
    entries: list[Entry] = []
    while True:
        after = entries[-1].number if entries else 0
        page = await engine.sessions.transcript(session_id, after=after, limit=_LINES)
        entries += page.entries
        if not page.more:
            return entries


def _read(
    steps: Sequence[Mapping[str, Any]], given: Sequence[Mapping[str, Any]]
) -> tuple[list[Action], tuple[Fake, ...]]:
    """Read steps and fakes as those of a test."""
    content: dict[str, Any] = {"tests": {"rehearsal": list(steps)}}
    if given:
        content["fake"] = list(given)
    try:
        (test,) = reader.read_text(yaml.safe_dump(content), "rehearsal.yaml")
    except InvalidPack as error:
        problem = str(error).removeprefix("tests/rehearsal.yaml:")
        raise InvalidInput(f"steps: {problem}", field="steps") from error
    return [step.action for step in test.steps], test.fakes


@dataclass(frozen=True, slots=True)
class _Scene:
    """What all executions of a session share."""

    session: Session
    #: The last line that counts.
    last: Entry
    values: Mapping[str, StateValue]


@dataclass(frozen=True, slots=True)
class _Played:
    rehearsal: Rehearsal
    flow: str
    status: Status
    problem: str = ""


async def _play(
    engine: Engine,
    scene: _Scene,
    execution: str,
    script: tuple[Sequence[Action], Sequence[Fake]] = ((), ()),
) -> _Played:
    """Run one execution of a session again, up to a line, and then a script with its fakes."""
    session, last = scene.session, scene.last
    described, recorded, payload = await asyncio.gather(
        engine.describe(execution), engine.steps(execution), engine.input(execution)
    )
    packs, flows = await _pack(engine, session, revision_of(described.requires))
    entry = described.kind.partition(":")[2]
    past = Past(
        place=_place(session, execution),
        steps={step.name: step for step in recorded},
        opening=opening(payload),
        line=last.number,
        until=last.at,
        values={
            name: msgspec.json.decode(one.value) for name, one in scene.values.items() if one.value
        },
    )
    rehearsal = Rehearsal(past, *script)
    runners = fakes.runners(rehearsal.ask, Runners(state=_no_state))
    stage = Flows(flows, runners, checked=True)
    stage.watcher = rehearsal
    main = packs.main.definition
    direct = directives_of(packs, runners) if entry == main.entry else None
    kept = msgspec.json.decode(payload).get("state")
    status, problem = Status.ENDED, ""
    try:
        await stage.talk(rehearsal, entry, kept, welcome=main.welcome, direct=direct)
    except Paused as paused:
        status = paused.status
    except FlowFailed as failure:
        status, problem = Status.FAILED, str(failure)
    except Misfit as misfit:
        raise InvalidInput(f"steps: {misfit}", field="steps") from misfit
    rehearsal.settle(waits=True)
    if rehearsal.unfaked:
        problem = f"no fake answers {rehearsal.unfaked[0]}"
    return _Played(rehearsal, entry, status, problem)


def _place(session: Session, execution: str) -> Place:
    key = session.key
    return Place(
        execution=execution,
        tenant=key.tenant,
        env=key.env,
        endpoint=key.endpoint,
        conversation=key.conversation,
        user=key.user,
    )


async def _no_state(_: Invocation, _names: Sequence[str]) -> Mapping[str, Any]:
    return {}


async def _pack(
    engine: Engine, session: Session, revision_id: str | None
) -> tuple[Bundle, Mapping[str, Flow]]:
    """Return the packs of a revision and their flows."""
    revision = await _revision(engine, session, revision_id)
    found = _PACKS.get(revision.archives)
    if found is None:
        archives = [await engine.packs.archive(one) for one in revision.archives]
        found = await asyncio.to_thread(_load, archives)
        if len(_PACKS) >= _MOST_PACKS:
            _PACKS.clear()
        _PACKS[revision.archives] = found
    return found


async def _revision(engine: Engine, session: Session, revision_id: str | None) -> Revision:
    with contextlib.suppress(RevisionNotFound):
        if revision_id is not None:
            revision = await engine.store.deployments.revision(session.key.tenant, revision_id)
            if revision.archives:
                return revision
    raise FlowNotFound(f"session {session.id} is not answered by a flow of a pack")


def _load(archives: Sequence[bytes]) -> tuple[Bundle, Mapping[str, Flow]]:
    main, *overlays = [load_archive(data, ANYBODY, quiet=True) for data in archives]
    packs = bundle(main, overlays)
    return packs, read_flows(packs, READ_ONLY).flows


def _moment(rehearsal: Rehearsal, line: int, *, is_new: bool) -> Moment:
    """Return the moment of a line, or the last one of what is new."""
    known = [one for one in rehearsal.happened if is_new or min(one.lines, default=0) <= line]
    last = known[-1] if known else Happening(act=None, payload={})
    before = known[-2].vars if len(known) > 1 else {}
    changed = [name for name, value in last.vars.items() if before.get(name, ...) != value]
    return Moment(
        line=0 if is_new else line,
        at=last.at,
        vars=last.vars,
        changed=tuple(changed),
        path=tuple(rehearsal.visits[: last.visits]),
    )


def _steps(entries: Sequence[Entry], rehearsals: Sequence[Rehearsal]) -> list[dict[str, Any]]:
    """Return the steps of a test: what happened, and before that what only the transcript has."""
    happened = [one for rehearsal in rehearsals for one in rehearsal.happened]
    first = min((line for one in happened for line in one.lines), default=0)
    found = recording.Steps(recording.steps_of([one for one in entries if one.number < first], ()))
    for one in happened:
        if one.act is None:
            found.replies.append(recording.expected(one.payload))
        else:
            found.act(one.act)
    found.finish()
    return found.steps
