"""What came of tests: for people, for programs, and for CI systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from xml.etree import ElementTree as ET

from holdfast.host.simulator.player import Mismatch
from holdfast.host.simulator.script import Test
from holdfast.host.yaml_source import Position


class Verdict(StrEnum):
    """Whether a test got what it expects."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a test."""

    test: Test
    verdict: Verdict
    seconds: float = 0.0
    #: What differs, or why it was skipped.
    message: str = ""
    #: The step that failed.
    position: Position | None = None

    @classmethod
    def failed(cls, test: Test, mismatch: Mismatch, seconds: float) -> Outcome:
        """Return the outcome of a test that failed at a step."""
        position = test.position if mismatch.step is None else mismatch.step.position
        return cls(test, Verdict.FAILED, seconds, str(mismatch), position)

    def as_value(self) -> dict[str, Any]:
        """Return it as JSON."""
        place = self.position or self.test.position
        return {
            "id": self.test.id,
            "file": self.test.file,
            "name": self.test.name,
            "verdict": self.verdict.value,
            "seconds": round(self.seconds, 3),
            "message": self.message,
            "line": place.line,
        }


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return how many tests passed, failed and were skipped."""
    counts = Counter(outcome.verdict for outcome in outcomes)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])


def failure_lines(outcome: Outcome) -> list[str]:
    """Return what a person reads of a test that failed."""
    place = outcome.position or outcome.test.position
    return [
        f"--- {outcome.test.id} ---",
        f"{place.file}:{place.line}:",
        *(f"    {line}" for line in outcome.message.split("\n")),
    ]


def as_junit(name: str, outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes as JUnit XML: a suite for each file."""
    root = ET.Element("testsuites", {"name": name, **_counts(outcomes)})
    for file in dict.fromkeys(outcome.test.file for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.test.file == file]
        suite = ET.SubElement(root, "testsuite", {"name": file, **_counts(own)})
        for outcome in own:
            _case(suite, outcome)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _counts(outcomes: Sequence[Outcome]) -> dict[str, str]:
    counts = Counter(outcome.verdict for outcome in outcomes)
    return {
        "tests": str(len(outcomes)),
        "failures": str(counts[Verdict.FAILED]),
        "skipped": str(counts[Verdict.SKIPPED]),
        "time": f"{sum(outcome.seconds for outcome in outcomes):.3f}",
    }


def _case(suite: ET.Element, outcome: Outcome) -> None:
    place = outcome.position or outcome.test.position
    case = ET.SubElement(
        suite,
        "testcase",
        classname=outcome.test.file,
        name=_printable(outcome.test.name),
        file=outcome.test.file,
        line=str(place.line),
        time=f"{outcome.seconds:.3f}",
    )
    first = _printable(outcome.message.partition("\n")[0])
    if outcome.verdict is Verdict.FAILED:
        failure = ET.SubElement(case, "failure", message=first)
        failure.text = _printable(f"{place.file}:{place.line}\n{outcome.message}")
    elif outcome.verdict is Verdict.SKIPPED:
        ET.SubElement(case, "skipped", message=first)


def _printable(text: str) -> str:
    """Return a text without characters that XML cannot hold."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)
