"""Reads test files; notes everything that is wrong in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from holdfast.errors import InvalidInput
from holdfast.host import yaml_source
from holdfast.host.flows.model import NodeKind
from holdfast.host.packs.definition import Definition
from holdfast.host.packs.fields import Defects, closest
from holdfast.host.packs.problems import Problem
from holdfast.host.simulator.script import (
    DEFAULT_USER,
    FAKED,
    Action,
    Add,
    Advance,
    Called,
    Decide,
    Expect,
    Failure,
    Fake,
    HasState,
    IsStatus,
    Line,
    Result,
    Run,
    Say,
    Status,
    Step,
    Target,
    Test,
)
from holdfast.host.yaml_source import Node

FILE_FIELDS = ("flow", "user", "fake", "tests")
FAKE_FIELDS = (*(kind.value for kind in FAKED), "with", "returns", "fails", "times")
FAILURE_FIELDS = ("code", "message", "retryable")
LINE_FIELDS = ("text", "contains", "matches", "buttons", "card", "data")
CALLED_FIELDS = (*(kind.value for kind in FAKED), "with", "times")
#: The fields beside the verb of a step.
SIBLINGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("say", "click", "form", "event", "expect"), ("user",)),
    **dict.fromkeys(("result", "status", "state"), ("user",)),
    **dict.fromkeys(("approve", "deny"), ("by", "data", "user")),
    **dict.fromkeys(("run", "advance", "fake", "called"), ()),
}
T = TypeVar("T")
U = TypeVar("U")

_MOST_TIMES = 1_000
_USER_CHARS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What tests of a pack may refer to. What is None is not checked."""

    flows: Collection[str] | None = None
    approvals: Collection[str] | None = None
    #: By the kind of node; web addresses are not checked.
    targets: Mapping[NodeKind, Collection[str]] | None = None

    @classmethod
    def of(cls, definition: Definition, approvals: Collection[str] | None = None) -> Names:
        """Return the names of a pack; `approvals` are its nodes where people decide."""
        components, providers = definition.components.values(), definition.providers
        return cls(
            flows=[flow.id for flow in definition.flows.values() if flow.is_entry],
            approvals=approvals,
            targets={
                NodeKind.CALL: [
                    f"{one.name}.{each}" for one in components for each in one.operations
                ],
                NodeKind.PROVIDER: [
                    f"{one.type}.{each}" for one in providers for each in one.operations
                ],
                NodeKind.LLM: list(definition.models),
            },
        )


def is_test(name: str) -> bool:
    """Whether a file of a pack has tests."""
    folder, _, rest = name.partition("/")
    return folder == "tests" and "/" not in rest and rest.endswith(".yaml")


def read(files: Mapping[str, bytes], names: Names | None = None) -> list[Test]:
    """Return the tests of a pack, file by file; raises InvalidPack with every defect."""
    defects = Defects()
    tests = [
        test
        for name, data in sorted(files.items())
        if is_test(name)
        for test in _read_file(name, data, names or Names(), defects)
    ]
    defects.finish()
    return tests


def read_text(text: str, file: str) -> list[Test]:
    """Return the tests of one file, whatever pack it belongs to; raises InvalidPack."""
    return read({file if is_test(file) else f"tests/{file}": text.encode()})


def _read_file(name: str, data: bytes, names: Names, defects: Defects) -> Iterator[Test]:
    try:
        root = yaml_source.load(data, name)
    except InvalidInput as error:
        place = yaml_source.Position(name, error.context["line"], error.context["column"])
        defects.add(Problem.INVALID_YAML, place, error.message.removeprefix(f"{place}: "))
        return
    yield from _Reader(name, root, names, defects).tests()


class _Reader:
    """Reads one file. A value with a defect is None, and is left out."""

    def __init__(self, file: str, root: Node, names: Names, defects: Defects) -> None:
        self._file = file
        self._root = root
        self._names = names
        self._defects = defects
        self._user = DEFAULT_USER

    def tests(self) -> Iterator[Test]:
        """Yield the tests of the file."""
        root, defects = self._root, self._defects
        if not defects.mapping(root, "the file", FILE_FIELDS):
            return
        flow = defects.optional(root, "the file", "flow", self._flow)
        self._user = defects.optional(root, "the file", "user", self._person) or DEFAULT_USER
        fakes = defects.optional(root, "the file", "fake", self._fakes) or ()
        tests = root.get("tests")
        if tests is None:
            defects.missing(root, "the file", "tests")
            return
        if not defects.mapping(tests, "`tests`"):
            return
        for name, script in tests.entries.items():
            steps = [
                step
                for item, what in defects.items(script, f"the test `{name[:60]}`")
                if (step := self._step(item, what)) is not None
            ]
            yield Test(
                file=self._file,
                name=name,
                flow=flow,
                fakes=fakes,
                steps=tuple(steps),
                position=tests.keys[name].position,
            )

    def _flow(self, node: Node, what: str) -> str | None:
        name = self._defects.name(node, what)
        if name is not None and self._names.flows is not None:
            self._defects.known(node, what, name, self._names.flows, "entry flow")
        return name

    def _person(self, node: Node, what: str) -> str | None:
        name = self._defects.text(node, what)
        if name is not None and len(name) > _USER_CHARS:
            self._defects.wrong(node, what, f"may have {_USER_CHARS} characters")
            return None
        return name

    # Steps

    def _step(self, node: Node, what: str) -> Step | None:
        defects = self._defects
        if not defects.mapping(node, what):
            return None
        verb = self._verb(node, what, SIBLINGS)
        if verb is None:
            return None
        defects.unknown(node, f"a step `{verb}`", (verb, *SIBLINGS[verb]))
        user = defects.optional(node, what, "user", self._person) or self._user
        action = self._action(verb, user, node, f"`{verb}` of {what}")
        return None if action is None else Step(action=action, position=node.position)

    def _verb(self, node: Node, what: str, verbs: Collection[str]) -> str | None:
        """Return the only key of a mapping that is one of a few."""
        found = [key for key in node.entries if key in verbs]
        if len(found) == 1:
            return found[0]
        listed = ", ".join(f"`{verb}`" for verb in verbs)
        if found:
            sentence = f"{what} has {' and '.join(f'`{one}`' for one in found)}; it takes one"
            self._defects.add(Problem.INVALID_FIELD, node.position, sentence)
            return None
        hints = [hint for key in node.entries if "did you mean" in (hint := closest(key, verbs))]
        sentence = f"{what} needs one of {listed}"
        self._defects.add(Problem.MISSING_FIELD, node.position, sentence, "".join(hints[:1]))
        return None

    def _action(self, verb: str, user: str, node: Node, what: str) -> Action | None:
        defects, value = self._defects, node.entries[verb]
        readers: dict[str, Callable[[], Action | None]] = {
            "say": lambda: _made(defects.text(value, what), lambda one: Say(user=user, text=one)),
            "click": lambda: _made(
                defects.text(value, what), lambda one: Say(user=user, click=one)
            ),
            "form": lambda: self._form(value, what, user),
            "event": lambda: self._event(value, what, user),
            "run": lambda: Run(given=value.value),
            "expect": lambda: Expect(user=user, lines=tuple(self._lines(value, what))),
            "advance": lambda: _made(defects.duration_ms(value, what), lambda one: Advance(ms=one)),
            "approve": lambda: self._decision(node, what, user, approves=True),
            "deny": lambda: self._decision(node, what, user, approves=False),
            "fake": lambda: Add(fakes=self._fakes(value, what)),
            "called": lambda: self._called(value, what),
            "result": lambda: Result(user=user, value=value.value),
            "status": lambda: _made(
                defects.choice([*map(str, Status)])(value, what),
                lambda one: IsStatus(user=user, status=Status(one)),
            ),
            "state": lambda: (
                HasState(user=user, values=value.value) if defects.mapping(value, what) else None
            ),
        }
        return readers[verb]()

    def _form(self, node: Node, what: str, user: str) -> Say | None:
        return Say(user=user, form=node.value) if self._defects.mapping(node, what) else None

    def _event(self, node: Node, what: str, user: str) -> Say | None:
        return Say(user=user, event=node.value) if self._defects.mapping(node, what) else None

    def _decision(self, node: Node, what: str, user: str, *, approves: bool) -> Decide | None:
        place = node.entries["approve" if approves else "deny"]
        name = self._defects.text(place, what)
        if name is None:
            return None
        if self._names.approvals is not None:
            self._defects.known(place, what, name, self._names.approvals, "approval")
        by = self._defects.optional(node, what, "by", self._person) or ""
        data = node.get("data")
        return Decide(
            user=user, node=name, approves=approves, by=by, data=data.value if data else None
        )

    def _lines(self, node: Node, what: str) -> Iterator[Line]:
        """Yield expected replies: one, or a list of them."""
        places = [(node, what)] if node.kind != "list" else self._defects.items(node, what)
        for place, words in places:
            line = self._line(place, words)
            if line is not None:
                yield line

    def _line(self, node: Node, what: str) -> Line | None:
        defects = self._defects
        if node.kind != "mapping":
            return _made(defects.text(node, what), lambda text: Line(text=text))
        if not defects.mapping(node, what, LINE_FIELDS):
            return None
        if not node.entries:
            defects.wrong(node, what, "must not be empty")
            return None
        return Line(
            text=defects.optional(node, what, "text", defects.text),
            contains=defects.optional(node, what, "contains", defects.text),
            matches=defects.optional(node, what, "matches", self._pattern),
            parts={
                key: node.entries[key].value
                for key in ("buttons", "card", "data")
                if key in node.entries
            },
        )

    def _pattern(self, node: Node, what: str) -> re.Pattern[str] | None:
        text = self._defects.text(node, what)
        try:
            return None if text is None else re.compile(text)
        except (re.error, OverflowError, RecursionError):
            self._defects.wrong(node, what, "must be a regular expression")
            return None

    # Fakes

    def _fakes(self, node: Node, what: str) -> tuple[Fake, ...]:
        places = [(node, what)] if node.kind != "list" else self._defects.items(node, what)
        found = (self._fake(place, words) for place, words in places)
        return tuple(fake for fake in found if fake is not None)

    def _fake(self, node: Node, what: str) -> Fake | None:
        defects = self._defects
        if not defects.mapping(node, what, FAKE_FIELDS):
            return None
        target = self._target(node, what)
        times = defects.optional(node, what, "times", defects.integer(1, _MOST_TIMES))
        self._verb(node, what, ("returns", "fails"))
        fails = defects.optional(node, what, "fails", self._failure)
        returns = node.get("returns")
        if target is None:
            return None
        value = None if returns is None else returns.value
        return Fake(target=target, returns=value, fails=fails, times=times)

    def _target(self, node: Node, what: str) -> Target | None:
        word = self._verb(node, what, [kind.value for kind in FAKED])
        if word is None:
            return None
        kind = NodeKind(word)
        name = self._defects.text(node.entries[word], f"`{word}` of {what}")
        if name is None:
            return None
        known = (self._names.targets or {}).get(kind)
        if known is not None:
            noun = "model" if kind is NodeKind.LLM else "operation"
            self._defects.known(node.entries[word], f"`{word}` of {what}", name, known, noun)
        given = node.get("with")
        return Target(kind=kind, name=name, given=None if given is None else given.value)

    def _failure(self, node: Node, what: str) -> Failure | None:
        defects = self._defects
        if node.kind != "mapping":
            return _made(
                defects.name(node, what), lambda code: Failure(code=code, message=f"fake: {code}")
            )
        if not defects.mapping(node, what, FAILURE_FIELDS):
            return None
        code = defects.field(node, what, "code", defects.name) or ""
        message = defects.optional(node, what, "message", defects.text) or f"fake: {code}"
        retryable = defects.optional(node, what, "retryable", defects.boolean)
        return Failure(code=code, message=message, retryable=bool(retryable))

    def _called(self, node: Node, what: str) -> Called | None:
        defects = self._defects
        if not defects.mapping(node, what, CALLED_FIELDS):
            return None
        target = self._target(node, what)
        times = defects.optional(node, what, "times", defects.integer(0, _MOST_TIMES))
        if target is None:
            return None
        return Called(target=target, times=1 if times is None else times)


def _made(value: T | None, make: Callable[[T], U]) -> U | None:
    return None if value is None else make(value)
