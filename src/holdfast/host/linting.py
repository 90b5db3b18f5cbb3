"""Lint of packs: what `pack.yaml` says, and the flows with what it declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.errors import InvalidPack
from holdfast.host import yaml_source
from holdfast.host.flows.known import Known, operations
from holdfast.host.flows.lint import lint_files
from holdfast.host.flows.model import Flow, NodeKind
from holdfast.host.flows.problems import CODES, Problem, Problems, Severity
from holdfast.host.packs import folder, paths, reader
from holdfast.host.packs.definition import Definition
from holdfast.host.packs.problems import MEANINGS
from holdfast.host.rules import read_rules
from holdfast.host.simulator.reader import Names, is_test, read

#: What the codes of all problems of a pack mean.
ALL_CODES: dict[str, str] = {
    **{problem.value: f"{words[0].upper()}{words[1:]}." for problem, words in MEANINGS.items()},
    **CODES,
}
_FLOWS = "flows/"


@dataclass(frozen=True, slots=True)
class Report:
    """What lint found, and the texts that it found it in."""

    problems: tuple[Problem, ...]
    sources: Mapping[str, str]

    @property
    def is_valid(self) -> bool:
        """Whether the pack can be built and run."""
        return all(problem.severity is not Severity.ERROR for problem in self.problems)


def lint_folder(path: Path) -> Report:
    """Check the folder of a pack; raises InvalidPack if it cannot be read at all."""
    return lint_pack(folder.read(path))


def lint_pack(
    files: Mapping[str, bytes], kinds: frozenset[NodeKind] = frozenset(NodeKind)
) -> Report:
    """Check the files of a pack, for a host that runs some kinds of nodes."""
    problems: list[Problem] = []
    definition: Definition | None = None
    try:
        definition = reader.read(files)
    except InvalidPack as error:
        problems += _defects(error)
        # The flows are checked as far as they can be without the pack.
        known = Known(kinds=kinds, is_whole=False)
        flow_files = [name for name in files if _is_flow(name)]
    else:
        known = known_of(definition, kinds)
        flow_files = [flow.path for flow in definition.flows.values()]
        problems += _routing_problems(definition)
    flows, found = lint_files({name: files[name] for name in flow_files}, known)
    problems += _test_problems(files, definition, flows)
    places = {(one.file, one.line, one.column) for one in problems}
    # Heads of flows are read twice; the first report is enough.
    problems += [one for one in found if (one.file, one.line, one.column) not in places]
    texts = {
        name: data.decode("utf-8", "replace")
        for name, data in files.items()
        if name == paths.PACK_FILE or _is_flow(name) or is_test(name)
    }
    ordered = sorted(problems, key=lambda one: (one.file, one.line, one.column, one.code))
    return Report(tuple(ordered), texts)


def known_of(definition: Definition, kinds: frozenset[NodeKind] = frozenset(NodeKind)) -> Known:
    """Return what flows of a pack may refer to."""
    components = {one.name: list(one.operations) for one in definition.components.values()}
    return Known(
        components=operations(components),
        providers={one.type: frozenset(one.operations) for one in definition.providers},
        models=frozenset(definition.models),
        secrets=frozenset(definition.secrets),
        http_allow=frozenset(definition.http_allow),
        kinds=kinds,
    )


def _is_flow(name: str) -> bool:
    return name.startswith(_FLOWS) and name.endswith((".yaml", ".yml"))


def _routing_problems(definition: Definition) -> list[Problem]:
    """Check the expressions of the routing, which lint of flows does not see."""
    problems = Problems()
    if definition.routing is not None:
        read_rules(definition.routing, problems)
    return problems.in_order()


def _test_problems(
    files: Mapping[str, bytes], definition: Definition | None, flows: Mapping[str, Flow]
) -> list[Problem]:
    """Check the tests, as far as what they refer to is known."""
    approvals = [
        node.id
        for flow in flows.values()
        for node in flow.nodes.values()
        if node.kind is NodeKind.APPROVAL
    ]
    names = Names() if definition is None else Names.of(definition, approvals)
    try:
        read(files, names)
    except InvalidPack as error:
        return _defects(error)
    return []


def _defects(error: InvalidPack) -> list[Problem]:
    """Return the defects of a pack as problems."""
    found: list[dict[str, Any]] = list(error.context.get("defects", ()))
    if found:
        return [
            Problem(
                str(one["problem"]),
                str(one["sentence"]),
                str(one["file"]),
                int(one["line"]),
                int(one["column"]),
                str(one["suggestion"]),
            )
            for one in found
        ]
    place = yaml_source.Position(
        str(error.context.get("file", paths.PACK_FILE)),
        int(error.context.get("line", 1)),
        int(error.context.get("column", 1)),
    )
    message = str(error).removeprefix(f"{place}: ")
    code = str(error.context["problem"])
    return [Problem(code, message, place.file, place.line, place.column)]
