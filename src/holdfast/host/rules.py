"""The rules of a pack's `routing`, read and checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.host.flows.expressions import Expression
from holdfast.host.flows.model import Condition
from holdfast.host.flows.problems import Problems
from holdfast.host.flows.templates import Text, Value
from holdfast.host.flows.values import Reader
from holdfast.host.packs.definition import Routing, Rule
from holdfast.host.yaml_source import Node
from holdfast.model.directives import Act
from holdfast.model.hints import did_you_mean

#: What the expressions of rules may refer to.
SCOPE = ("input", "activity", "user", "tenant", "env", "now")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyRule:
    """A rule that can be applied to messages."""

    when: Condition
    act: Act
    #: FLOW or PACK/FLOW.
    target: str | None = None
    entities: Value | None = None
    text: Text | None = None

    def applied(self, scope: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the rule does with a message, as a component would say it."""
        if self.act is Act.DISPATCH:
            entities = None if self.entities is None else self.entities.evaluate(scope)
            return {"dispatch": self.target, "entities": entities}
        return {self.act.value: self.text.text(scope) if self.text else ""}


def read_rules(routing: Routing, problems: Problems) -> list[ReadyRule]:
    """Return the rules of a routing; adds what is wrong with their expressions to `problems`."""
    rules = [_read(rule, problems) for rule in routing.rules]
    return [rule for rule in rules if rule is not None]


def _read(rule: Rule, problems: Problems) -> ReadyRule | None:
    fields = Reader(problems)
    when = fields.condition(rule.when, "`when` of a rule")
    entities = None if rule.entities is None else fields.value(rule.entities)
    act, node = _answer(rule)
    text = None if node is None else fields.text(node, f"`{act}` of a rule")
    if when is None:
        return None
    ready = ReadyRule(when=when, act=act, target=rule.dispatch, entities=entities, text=text)
    for expression, place in _expressions(ready):
        for name in sorted(expression.names - set(SCOPE)):
            message = f"`{name}` is not in scope of a rule"
            problems.add("unknown_name", place, message, did_you_mean(name, SCOPE))
    return ready


def _answer(rule: Rule) -> tuple[Act, Node | None]:
    if rule.respond is not None:
        return Act.RESPOND, rule.respond
    if rule.deny is not None:
        return Act.DENY, rule.deny
    return Act.DISPATCH, None


def _expressions(rule: ReadyRule) -> Iterator[tuple[Expression, Node]]:
    """Yield the expressions of a rule, and where they are."""
    yield rule.when.expression, rule.when.node
    texts = [] if rule.text is None else [rule.text]
    if rule.entities is not None:
        texts += rule.entities.texts()
    for text in texts:
        place = text.node or rule.when.node
        for template in text.templates:
            yield template.expression, place
            if template.default is not None:
                yield template.default, place
