"""What came of tests, as people and CI systems read it."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from holdfast.host.simulator.player import Mismatch, compared
from holdfast.host.simulator.results import Outcome, Verdict, as_junit, failure_lines, summary
from holdfast.host.simulator.script import Test
from holdfast.host.yaml_source import Position


def _test(name: str, file: str = "tests/a.yaml") -> Test:
    place = Position(file, 3, 1)
    return Test(file=file, name=name, flow=None, fakes=(), steps=(), position=place)


OUTCOMES = [
    Outcome(_test("good"), Verdict.PASSED, 0.5),
    Outcome.failed(_test("bad <\x00>"), Mismatch("- a\n+ b"), 0.25),
    Outcome(_test("later", "tests/b.yaml"), Verdict.SKIPPED, message="no clock"),
]


def test_junit_has_a_suite_for_each_file() -> None:
    """With counts, places and texts, and nothing that XML cannot hold."""
    root = ET.fromstring(as_junit("shop", OUTCOMES).encode())  # noqa: S314 - our own
    assert root.attrib == {
        "name": "shop",
        "tests": "3",
        "failures": "1",
        "skipped": "1",
        "time": "0.750",
    }
    assert [suite.get("name") for suite in root] == ["tests/a.yaml", "tests/b.yaml"]
    case = root[0][1]
    assert (case.get("name"), case.get("line")) == ("bad <\ufffd>", "3")
    assert case[0].tag == "failure"
    assert case[0].text == "tests/a.yaml:3\n- a\n+ b"
    assert root[1][0][0].get("message") == "no clock"


def test_people_read_where_and_what_differs() -> None:
    """And how many there are of each."""
    assert summary(OUTCOMES) == "1 passed, 1 failed, 1 skipped"
    assert failure_lines(OUTCOMES[1])[1:] == ["tests/a.yaml:3:", "    - a", "    + b"]
    assert OUTCOMES[0].as_value()["verdict"] == "passed"


def test_differences_are_those_of_lines() -> None:
    """As pytest shows them."""
    assert compared(["a", "b"], ["a", "c"]) == "  a\n- b\n+ c"
    assert compared([], ["a"]) == "+ a"
    assert compared(["a"], []) == "- a"
