"""What must hold of the attempts of all executions, by the notes of their code.

One holder at a time: once an attempt of a later epoch has begun, no call of an earlier one that
begins afterwards succeeds. The same is true of the executions of a session, one after the other. A
recorded step never changes and never runs again.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator

from holdfast.model.session_keys import session_of
from tests.chaos.seeded.history import Ledger, Note


def judge(ledger: Ledger, reborn: set[str]) -> Iterator[str]:
    """Return what is wrong; executions that may have begun again may have other steps then."""
    notes: dict[str, list[Note]] = defaultdict(list)
    for note in ledger.notes:
        notes[note.execution].append(note)
    for execution, own in notes.items():
        yield from _one_holder(execution, own)
        if execution not in reborn:
            yield from _steps(execution, own)
    yield from _one_turn(notes)


def _one_turn(notes: dict[str, list[Note]]) -> Iterator[str]:
    """Find executions of a session that record something after a later one has begun."""
    began: dict[str, float] = {}
    sessions: dict[str, list[str]] = defaultdict(list)
    for execution, own in notes.items():
        session = session_of(execution)
        first = next((note.at for note in own if note.what == "began"), None)
        if session is not None and first is not None:
            began[execution] = first
            sessions[session].append(execution)
    for session, executions in sessions.items():
        ordered = sorted(executions, key=lambda one: int(one.rpartition("~")[2]))
        for one, two in itertools.pairwise(ordered):
            for note in notes[one]:
                if (
                    note.what == "stepped"
                    and note.began > began[two]
                    and _is_first(note, notes[one])
                ):
                    yield (f"session {session}: {one} recorded {note.name} after {two} had begun")


def _one_holder(execution: str, notes: list[Note]) -> Iterator[str]:
    began = [note for note in notes if note.what == "began"]
    for note in notes:
        if note.what not in ("stepped", "charged", "flushed"):
            continue
        later = [one for one in began if one.epoch > note.epoch and one.at < note.began]
        # A step that was recorded before needs no call: only the recording of it is one.
        if later and _is_first(note, notes):
            yield (
                f"execution {execution}: epoch {note.epoch} did {note.what} {note.name} after "
                f"epoch {later[0].epoch} had begun"
            )


def _is_first(note: Note, notes: list[Note]) -> bool:
    """Return whether an attempt ran the step itself."""
    if note.what != "stepped":
        return True
    ran = (one for one in notes if one.what == "ran" and one.name == note.name)
    return any(one.epoch == note.epoch for one in ran)


def _steps(execution: str, notes: list[Note]) -> Iterator[str]:
    values: dict[str, Note] = {}
    for note in notes:
        if note.what != "stepped":
            continue
        first = values.setdefault(note.name, note)
        if first.value != note.value:
            yield (
                f"execution {execution}: step {note.name} was {first.value} in epoch {first.epoch} "
                f"and {note.value} in epoch {note.epoch}"
            )
    for note in notes:
        known = values.get(note.name) if note.what == "ran" else None
        if known is not None and note.epoch > known.epoch and note.at > known.at:
            yield (
                f"execution {execution}: step {note.name} was recorded in epoch {known.epoch} "
                f"and ran again in epoch {note.epoch}"
            )
