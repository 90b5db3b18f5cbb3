"""The step journal of one attempt: the steps that earlier attempts recorded and this one requests.

The code asks for a step by its name. If the step is recorded, its result comes from the journal;
otherwise the step runs and is recorded. Code that no longer fits its journal must not continue
silently. So it is a mismatch if the code asks for a new step before it has asked for all recorded
ones, or if the function ends without having asked for a recorded step. Parallel steps have no fixed
order, so only the second rule applies to them.

A version is a recorded number by which changed code finds out how an execution began. Code that
has no more use for a version may stop asking for it, so no rule applies to versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher

from holdfast.errors import DuplicateStep, JournalMismatch

_MOST_SHOWN = 5
_VERSION = "version:"
#: Names that are more similar than this probably belong to the same step.
_ALIKE = 0.6


class Journal:
    """The names and results of the steps of one execution."""

    def __init__(self, execution_id: str, recorded: Mapping[str, bytes]) -> None:
        self._execution_id = execution_id
        self._recorded = recorded
        self._asked: set[str] = set()
        self._counts: dict[str, int] = {}
        self._outstanding = 0
        self._parallel = False
        #: Whether the code has asked for all that earlier attempts recorded.
        self._caught_up = not recorded

    def ask(self, name: str, *, parallel: bool = False) -> None:
        """Record that the code asks for a step; each name may be used once."""
        if name in self._asked:
            raise DuplicateStep(
                f"execution {self._execution_id}: two steps are called {name!r}; "
                "give each its own name",
                id=self._execution_id,
                step=name,
            )
        self._asked.add(name)
        self._outstanding += 1
        self._parallel = self._parallel or parallel or self._outstanding > 1

    def number(self, kind: str) -> str:
        """Return the next name of an unnamed step of a kind, such as sleep:2."""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{kind}:{self._counts[kind]}"

    def find(self, name: str) -> bytes | None:
        """Return the recorded result of a step that was asked for, or None if it must run."""
        found = self._recorded.get(name)
        if found is None and not self._parallel:
            self._refuse_leftovers(name)
        return found

    def version(self, name: str, current: int) -> tuple[str, int, bool]:
        """Return the step of a version, the version, and whether it is recorded already.

        An execution whose code ran past this point before the code had the version keeps 1.
        """
        step = _VERSION + name
        if step not in self._recorded:
            return step, 1 if self._leftovers() else current, False
        recorded = int(self._recorded[step])
        if recorded > current:
            raise self._mismatch(
                f"earlier attempts recorded version {recorded} of {name!r}, but the code knows "
                f"only versions up to {current}. Was the code rolled back?",
                expected=[step],
                found=f"version {current}",
            )
        return step, recorded, True

    @property
    def is_replaying(self) -> bool:
        """Whether the code is still before a step that an earlier attempt recorded."""
        return bool(self._recorded) and bool(self._leftovers())

    def has(self, name: str) -> bool:
        """Whether a step is recorded, without asking for it."""
        return name in self._recorded

    @property
    def outstanding(self) -> int:
        """How many steps were asked for and are not done."""
        return self._outstanding

    def settle(self) -> None:
        """Record that a step is done."""
        self._outstanding -= 1

    def finish(self) -> None:
        """Check at the end of the function that every recorded step was asked for."""
        self._refuse_leftovers(None)

    def _refuse_leftovers(self, new: str | None) -> None:
        """Raise JournalMismatch if the code has not asked for all recorded steps."""
        expected = self._leftovers()
        if not expected:
            return
        names = ", ".join(map(repr, expected[:_MOST_SHOWN]))
        if len(expected) > _MOST_SHOWN:
            names += f" and {len(expected) - _MOST_SHOWN} more"
        came = "its end" if new is None else f"the new step {new!r}"
        raise self._mismatch(
            f"earlier attempts recorded {names}, but the code reached {came} without asking for "
            f"it. {_guess(expected[0], new)}",
            expected=expected,
            found="its end" if new is None else f"step {new!r}",
        )

    def _leftovers(self) -> list[str]:
        """Return the recorded steps that the code has not asked for."""
        if self._caught_up:
            return []
        left = [
            name
            for name in self._recorded
            if name not in self._asked and not name.startswith(_VERSION)
        ]
        self._caught_up = not left
        return left

    def _mismatch(self, problem: str, *, expected: list[str], found: str) -> JournalMismatch:
        return JournalMismatch(
            f"execution {self._execution_id}: {problem} Deploy code that fits and resume the "
            "execution, or replay it without the recorded steps.",
            id=self._execution_id,
            expected=expected,
            found=found,
            problem=problem[0].upper() + problem[1:],
        )


def _guess(expected: str, new: str | None) -> str:
    """Guess how the code has changed."""
    if new is None:
        return f"Was step {expected!r} removed?"
    if SequenceMatcher(a=expected, b=new).ratio() >= _ALIKE:
        return f"Was step {expected!r} renamed to {new!r}?"
    return f"Was step {new!r} added before {expected!r}, or {expected!r} removed?"
