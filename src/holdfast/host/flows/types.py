"""Types of values, as far as flows declare them, and the types of expressions over them.

A type that is not known is `any`, which fits everything: only what is certainly wrong is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.host.flows import syntax
from holdfast.host.flows.functions import FUNCTIONS
from holdfast.host.flows.syntax import HAS, Tree, path_of
from holdfast.model.hints import did_you_mean

_WORDS = {
    "null": "null",
    "bool": "a boolean",
    "int": "an integer",
    "double": "a number with a fraction",
    "number": "a number",
    "string": "text",
    "list": "a list",
    "map": "a map",
    "timestamp": "a time",
    "duration": "a duration",
}
_NUMBERS = frozenset({"int", "double", "number"})
_ORDERED = frozenset({"string", "timestamp", "duration", "bool"})
_DEEPEST = 16


@dataclass(frozen=True)
class Type:
    """A type. A map that is `closed` has no other fields than those listed."""

    name: str = "any"
    fields: Mapping[str, Type] = field(default_factory=dict)
    closed: bool = False
    item: Type | None = None

    @property
    def word(self) -> str:
        """The type in a sentence."""
        return _WORDS.get(self.name, "a value")

    def fits(self, wanted: str) -> bool:
        """Return whether a value of this type can be used where a type is wanted."""
        if "any" in {self.name, wanted} or self.name == wanted:
            return True
        if wanted == "sized":
            return self.name in {"string", "list", "map"}
        return self.name in _NUMBERS and wanted == "number"


ANY = Type()
_BOOL, _TEXT = Type("bool"), Type("string")


def of_value(value: Any, depth: int = 0) -> Type:
    """Return the type of a constant."""
    simple = {bool: "bool", int: "int", float: "double", str: "string", type(None): "null"}
    if type(value) in simple:
        return Type(simple[type(value)])
    if depth >= _DEEPEST:
        return ANY
    if isinstance(value, Mapping):
        fields = {key: of_value(item, depth + 1) for key, item in value.items()}
        return Type("map", fields=fields, closed=True)
    if isinstance(value, list):
        items = {one.name: one for one in (of_value(item, depth + 1) for item in value)}
        return Type("list", item=next(iter(items.values())) if len(items) == 1 else None)
    return ANY


def of_schema(schema: Any, depth: int = 0) -> Type:  # noqa: PLR0911 - one for each type
    """Return the type of values that a JSON Schema allows."""
    if not isinstance(schema, Mapping) or depth >= _DEEPEST or "$ref" in schema:
        return ANY
    if "const" in schema:
        return Type(of_value(schema["const"]).name)
    named = schema.get("type")
    if named is None and isinstance(schema.get("enum"), list) and schema["enum"]:
        found = {of_value(item).name for item in schema["enum"]}
        return Type(found.pop()) if len(found) == 1 else ANY
    simple = {"boolean": "bool", "integer": "int", "number": "number", "string": "string",
              "null": "null"}  # fmt: skip
    if not isinstance(named, str):
        return ANY
    if named in simple:
        return Type(simple[named])
    if named == "array":
        return Type("list", item=of_schema(schema.get("items"), depth + 1))
    if named == "object":
        declared = schema.get("properties")
        properties = declared if isinstance(declared, Mapping) else {}
        fields = {str(name): of_schema(one, depth + 1) for name, one in properties.items()}
        return Type("map", fields=fields, closed=schema.get("additionalProperties") is False)
    return ANY


def joined(types: list[Type]) -> Type:
    """Return the type of a value that has one of some types."""
    if not types:
        return ANY
    names = {one.name for one in types}
    if len(types) == 1:
        return types[0]
    if len(names) == 1 and names <= _NUMBERS | _ORDERED | {"null"}:
        return types[0]
    if names <= _NUMBERS:
        return Type("number")
    return ANY


#: Called with a code, an offset in the expression, a sentence and a suggestion.
Report = Callable[[str, int, str, str], None]


class Checker:
    """Finds the types of expressions in a scope, and reports what cannot be."""

    def __init__(self, scope: Mapping[str, Type], report: Report) -> None:
        self._scope = dict(scope)
        self._report = report

    def check(self, tree: Tree) -> Type:  # noqa: PLR0911 - one for each kind
        """Return the type of an expression."""
        if isinstance(tree, syntax.Literal):
            return of_value(tree.value)
        if isinstance(tree, syntax.Name):
            return self._name(tree)
        if isinstance(tree, syntax.Select):
            return self._field(tree, self.check(tree.operand), tree.field, tree.field_offset)
        if isinstance(tree, syntax.Index):
            return self._index(tree)
        if isinstance(tree, syntax.Call):
            return self._call(tree)
        if isinstance(tree, syntax.Unary):
            return self._unary(tree)
        if isinstance(tree, syntax.Binary):
            return self._binary(tree)
        if isinstance(tree, syntax.Choice):
            self._wants(tree.condition, "bool", "the condition before `?`")
            return joined([self.check(tree.yes), self.check(tree.no)])
        if isinstance(tree, syntax.Entries):
            return self._entries(tree)
        items = [self.check(part) for part in tree.parts]
        return Type("list", item=joined(items) if items else None)

    def _name(self, tree: syntax.Name) -> Type:
        if tree.name in self._scope:
            return self._scope[tree.name]
        message = f"there is no `{tree.name}` in scope"
        self._report("unknown_name", tree.offset, message, did_you_mean(tree.name, self._scope))
        return ANY

    def _field(self, tree: Tree, owner: Type, name: str, offset: int) -> Type:
        if owner.name == "any":
            return ANY
        shown = written(tree.parts[0])
        if owner.name != "map":
            message = f"`{shown}` is {owner.word} and has no `{name}`"
            self._report("type_mismatch", offset, message, "")
            return ANY
        if name in owner.fields:
            return owner.fields[name]
        if owner.closed:
            hint = did_you_mean(name, owner.fields)
            code = {"vars": "unknown_var", "nodes": "unknown_node"}.get(shown, "missing_path")
            self._report(code, offset, f"`{shown}` has no `{name}`", hint)
        return ANY

    def _index(self, tree: syntax.Index) -> Type:
        owner, key = self.check(tree.operand), self.check(tree.key)
        if isinstance(tree.key, syntax.Literal) and isinstance(tree.key.value, str):
            if owner.name == "list":
                message = "an item of a list has a number, not a name"
                self._report("type_mismatch", tree.key.offset, message, "")
                return ANY
            return self._field(tree, owner, tree.key.value, tree.key.offset)
        if owner.name == "list":
            if not key.fits("number"):
                message = f"an item of a list has a number, not {key.word}"
                self._report("type_mismatch", tree.key.offset, message, "")
            return owner.item or ANY
        if owner.name not in {"any", "map"}:
            message = f"`{written(tree.operand)}` is {owner.word} and has no items"
            self._report("type_mismatch", tree.key.offset, message, "")
        return ANY

    def _call(self, tree: syntax.Call) -> Type:
        if tree.walker and tree.target is not None:
            return self._walk(tree, tree.walker, tree.target)
        if tree.function == HAS and tree.target is None:
            path = tree.arguments[0]
            if isinstance(path, syntax.Select):
                # The last field may be missing: that is the question.
                self.check(path.operand)
            return _BOOL
        function = FUNCTIONS.get(tree.function)
        found = [self.check(part) for part in tree.parts]
        if function is None:
            return ANY
        for part, type_, wanted in zip(tree.parts, found, function.takes, strict=False):
            if not type_.fits(wanted):
                what = {"sized": "text, a list or a map"}.get(wanted) or _WORDS.get(wanted, wanted)
                message = f"`{tree.function}` takes {what}, not {type_.word}"
                hint = ""
                if tree.function == "contains" and type_.name == "list":
                    hint = "write `item in list`"
                self._report("type_mismatch", part.offset, message, hint)
        return Type(function.returns)

    def _walk(self, tree: syntax.Call, walker: str, target: Tree) -> Type:
        items = self.check(target)
        if items.name not in {"any", "list", "map"}:
            message = f"`{tree.function}` walks over a list, not over {items.word}"
            self._report("type_mismatch", target.offset, message, "")
        item = (items.item or ANY) if items.name == "list" else ANY
        inside = Checker({**self._scope, walker: item}, self._report)
        bodies = tree.arguments[1:]
        for body in bodies if tree.function != "map" else bodies[:-1]:
            inside.wants_bool(body, f"the condition of `{tree.function}`")
        if tree.function == "map":
            return Type("list", item=inside.check(bodies[-1]))
        return Type("list", item=items.item) if tree.function == "filter" else _BOOL

    def wants_bool(self, tree: Tree, what: str) -> None:
        """Report an expression that is neither true nor false."""
        self._wants(tree, "bool", what)

    def _wants(self, tree: Tree, wanted: str, what: str) -> None:
        found = self.check(tree)
        if not found.fits(wanted):
            message = f"{what} must be true or false, not {found.word}"
            self._report("type_mismatch", tree.offset, message, "")

    def _unary(self, tree: syntax.Unary) -> Type:
        if tree.sign == "!":
            self._wants(tree.operand, "bool", "what follows `!`")
            return _BOOL
        found = self.check(tree.operand)
        if not found.fits("number") and found.name != "duration":
            message = f"`-` takes a number, not {found.word}"
            self._report("type_mismatch", tree.operand.offset, message, "")
        return found

    def _binary(self, tree: syntax.Binary) -> Type:
        if tree.sign in {"&&", "||"}:
            self._wants(tree.left, "bool", f"what is left of `{tree.sign}`")
            self._wants(tree.right, "bool", f"what is right of `{tree.sign}`")
            return _BOOL
        left, right = self.check(tree.left), self.check(tree.right)
        if tree.sign == "in":
            if right.name not in {"any", "list", "map"}:
                message = f"`in` takes a list or a map, not {right.word}"
                self._report("type_mismatch", tree.right.offset, message, "")
            return _BOOL
        if tree.sign in {"==", "!=", "<", "<=", ">", ">="}:
            if not _comparable(tree.sign, left, right):
                message = f"{left.word} and {right.word} cannot be compared by `{tree.sign}`"
                self._report("type_mismatch", tree.sign_offset, message, _conversion(left, right))
            return _BOOL
        result = _computed(tree.sign, left, right)
        if result is None:
            message = f"`{tree.sign}` cannot join {left.word} and {right.word}"
            self._report("type_mismatch", tree.sign_offset, message, _conversion(left, right))
        return result or ANY

    def _entries(self, tree: syntax.Entries) -> Type:
        fields: dict[str, Type] = {}
        closed = True
        for key, value in tree.entries:
            found = self.check(value)
            if isinstance(key, syntax.Literal) and isinstance(key.value, str):
                fields[key.value] = found
            else:
                closed = False
                if not (type_ := self.check(key)).fits("string"):
                    message = f"a key must be text, not {type_.word}"
                    self._report("type_mismatch", key.offset, message, "")
        return Type("map", fields=fields, closed=closed)


def _comparable(sign: str, left: Type, right: Type) -> bool:
    names = {left.name, right.name}
    if "any" in names:
        other = (names - {"any"} or {"any"}).pop()
        return sign in {"==", "!="} or other not in {"list", "map", "null"}
    if names <= _NUMBERS:
        return True
    if sign in {"==", "!="}:
        return len(names) == 1 or "null" in names
    return len(names) == 1 and names <= _ORDERED


def _computed(sign: str, left: Type, right: Type) -> Type | None:
    """Return the type of a sum and so on; None if there is none."""
    names = (left.name, right.name)
    if "any" in names:
        other = names[0] if names[1] == "any" else names[1]
        fits = other in _NUMBERS or other == "any"
        if sign == "+":
            fits = fits or other in {"string", "list", "timestamp", "duration"}
        elif sign == "-":
            fits = fits or other in {"timestamp", "duration"}
        return ANY if fits else None
    if set(names) <= _NUMBERS:
        if set(names) == {"int", "double"}:
            return None
        return left if left.name == right.name else Type("number")
    results = {
        ("+", "string", "string"): "string",
        ("+", "list", "list"): "list",
        ("+", "timestamp", "duration"): "timestamp",
        ("+", "duration", "timestamp"): "timestamp",
        ("+", "duration", "duration"): "duration",
        ("-", "timestamp", "timestamp"): "duration",
        ("-", "timestamp", "duration"): "timestamp",
        ("-", "duration", "duration"): "duration",
    }
    found = results.get((sign, *names))
    return None if found is None else Type(found)


def _conversion(left: Type, right: Type) -> str:
    names = {left.name, right.name}
    if "string" in names and names & _NUMBERS:
        return "write `string(...)` around the number"
    if names == {"int", "double"}:
        return "write `double(...)` around the integer"
    return ""


def written(tree: Tree) -> str:
    """Return a path as it is written."""
    path = path_of(tree)
    if path is None or not isinstance(path[0], syntax.Name):
        return "the value"
    keys = (f".{key}" if isinstance(key, str) else f"[{key}]" for key in path[1])
    return path[0].name + "".join(keys)
