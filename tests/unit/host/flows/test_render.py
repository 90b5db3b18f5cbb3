from __future__ import annotations

import json

from holdfast.host.flows.lint import lint_files
from holdfast.host.flows.render import as_json, as_lines, as_sarif

TEXT = """id: f
type: messaging
nodes:
  hello: {emit: {text: hi}, out: helo}
  b: {emit: {text: x}}
"""
_, PROBLEMS = lint_files({"flows/f.yaml": TEXT})


def test_text_shows_the_place_and_the_line() -> None:
    """Text for people has a line for each problem, and the line of the file."""
    lines = as_lines(PROBLEMS, {"flows/f.yaml": TEXT}).splitlines()
    assert lines[0] == (
        "flows/f.yaml:4:34: error: there is no node `helo` (did you mean `hello`?) [unknown_node]"
    )
    assert lines[1] == "      hello: {emit: {text: hi}, out: helo}"
    assert lines[2].index("^") == 4 + 33
    assert lines[-1] == "1 error, 1 warning"


def test_text_without_problems() -> None:
    """Text says that there are no problems."""
    assert as_lines([]) == "no problems\n"


def test_json_has_every_field() -> None:
    """JSON has the problems in order."""
    first = json.loads(as_json(PROBLEMS))["problems"][0]
    assert first == {
        "code": "unknown_node",
        "severity": "error",
        "file": "flows/f.yaml",
        "line": 4,
        "column": 34,
        "message": "there is no node `helo`",
        "suggestion": "did you mean `hello`?",
    }


def test_sarif_names_rules_and_places() -> None:
    """SARIF has the rules that were broken, and a place for each result."""
    log = json.loads(as_sarif(PROBLEMS, "1.2.3"))
    assert log["version"] == "2.1.0"
    run = log["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["unknown_node", "unreachable_node"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 4, "startColumn": 34}
    assert [result["level"] for result in run["results"]] == ["error", "warning"]
