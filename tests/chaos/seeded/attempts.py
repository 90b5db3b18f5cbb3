"""What must hold of the attempts of all executions, by the notes of their code.

One holder at a time: once an attempt of a later epoch has begun, no call of an earlier one that
begins afterwards succeeds. A recorded step never changes and never runs again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tests.chaos.seeded.history import Ledger, Note


def judge(ledger: Ledger, replayed: set[str]) -> Iterator[str]:
    """Return what is wrong; executions that were replayed may have other steps afterwards."""
    notes: dict[str, list[Note]] = defaultdict(list)
    for note in ledger.notes:
        notes[note.execution].append(note)
    for execution, own in notes.items():
        yield from _one_holder(execution, own)
        if execution not in replayed:
            yield from _steps(execution, own)


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
