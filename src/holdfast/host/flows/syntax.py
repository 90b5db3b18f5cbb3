"""The syntax of expressions: CEL as a tree with offsets, for checks before anything runs.

The library evaluates expressions but shows no tree. This parser reads the part of CEL that flows
can use; the library compiles every expression too, so it stays the judge of what is valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

MAX_CHARS = 2_000
MAX_DEPTH = 24
#: Bounds the depth of every tree, so that code which walks one can recurse.
MAX_WORDS = 300

#: Macros that evaluate an expression for each item of a list, and how many arguments they take.
WALKS = {"all": {2}, "exists": {2}, "exists_one": {2}, "filter": {2}, "map": {2, 3}}
HAS = "has"

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*)
  | (?P<text>[rR]?(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''
        |"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
  | (?P<float>\d+\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\.\d+(?:[eE][-+]?\d+)?)
  | (?P<int>0x[0-9a-fA-F]+|\d+)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}|])
    """,
    re.VERBOSE | re.DOTALL,
)
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("==", "!=", "<=", ">=", "<", ">", "in"),
    ("+", "-"),
    ("*", "/", "%"),
)
_RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)


class SyntaxProblem(ValueError):
    """An expression is not valid; `offset` is where, `code` what kind of problem it is."""

    def __init__(
        self, message: str, offset: int, *, code: str = "bad_expression", suggestion: str = ""
    ) -> None:
        super().__init__(message)
        self.offset = offset
        self.code = code
        self.suggestion = suggestion


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A part of an expression, and where it begins."""

    offset: int

    @property
    def parts(self) -> tuple[Tree, ...]:
        """The parts below this one."""
        return ()

    def walk(self) -> Iterator[Tree]:
        """Yield this part and all below it."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Tree):
    """A constant."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Name(Tree):
    """A variable."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Select(Tree):
    """A field of a value: `operand.field`."""

    operand: Tree
    field: str
    field_offset: int

    @property
    def parts(self) -> tuple[Tree, ...]:
        """The value."""
        return (self.operand,)


@dataclass(frozen=True, slots=True, eq=False)
class Index(Tree):
    """An item of a value: `operand[key]`."""

    operand: Tree
    key: Tree

    @property
    def parts(self) -> tuple[Tree, ...]:
        """The value and the key."""
        return (self.operand, self.key)


@dataclass(frozen=True, slots=True, eq=False)
class Call(Tree):
    """A call of a function, or of a method of `target`; `offset` is that of the name."""

    function: str
    target: Tree | None
    arguments: tuple[Tree, ...]

    @property
    def parts(self) -> tuple[Tree, ...]:
        """The target and the arguments."""
        return self.arguments if self.target is None else (self.target, *self.arguments)

    @property
    def walker(self) -> str | None:
        """The variable of a macro that walks over a list."""
        if self.target is None or self.function not in WALKS:
            return None
        first = self.arguments[0]
        return first.name if isinstance(first, Name) else None


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Tree):
    """`!a` or `-a`."""

    sign: str
    operand: Tree

    @property
    def parts(self) -> tuple[Tree, ...]:
        """The operand."""
        return (self.operand,)


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Tree):
    """Two values and an operator; `sign_offset` is where that is."""

    sign: str
    sign_offset: int
    left: Tree
    right: Tree

    @property
    def parts(self) -> tuple[Tree, ...]:
        """Both sides."""
        return (self.left, self.right)


@dataclass(frozen=True, slots=True, eq=False)
class Choice(Tree):
    """`condition ? yes : no`."""

    condition: Tree
    yes: Tree
    no: Tree

    @property
    def parts(self) -> tuple[Tree, ...]:
        """The condition and both values."""
        return (self.condition, self.yes, self.no)


@dataclass(frozen=True, slots=True, eq=False)
class Items(Tree):
    """A list."""

    items: tuple[Tree, ...]

    @property
    def parts(self) -> tuple[Tree, ...]:
        """The items."""
        return self.items


@dataclass(frozen=True, slots=True, eq=False)
class Entries(Tree):
    """A map."""

    entries: tuple[tuple[Tree, Tree], ...]

    @property
    def parts(self) -> tuple[Tree, ...]:
        """Keys and values."""
        return tuple(part for entry in self.entries for part in entry)


@dataclass(frozen=True, slots=True)
class Token:
    """A word of an expression."""

    kind: str
    text: str
    offset: int


def tokens(text: str) -> list[Token]:
    """Split an expression into words; raises SyntaxProblem."""
    words: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            quote = text[at] in "'\""
            why = "the text is not closed" if quote else f"`{text[at]}` is not part of CEL"
            hint = "write `==` to compare" if text[at] == "=" else ""
            raise SyntaxProblem(why, at, suggestion=hint)
        if match.lastgroup != "space":
            words.append(Token(match.lastgroup or "", match[0], at))
        at = match.end()
    return words


def parse(text: str) -> Tree:
    """Parse an expression; raises SyntaxProblem."""
    if len(text) > MAX_CHARS:
        raise SyntaxProblem(f"an expression has at most {MAX_CHARS} characters", 0)
    words = tokens(text)
    if not words:
        raise SyntaxProblem("the expression is empty", 0)
    if len(words) > MAX_WORDS:
        raise SyntaxProblem(f"an expression has at most {MAX_WORDS} words", words[MAX_WORDS].offset)
    return _Parser(words, len(text)).whole()


class _Parser:
    """Reads one expression from its words."""

    def __init__(self, words: list[Token], end: int) -> None:
        self._words = [*words, Token("end", "", end)]
        self._at = 0
        self._depth = 0

    def whole(self) -> Tree:
        tree = self._expression()
        word = self._word
        if word.kind != "end":
            sign = {"and": "&&", "or": "||", "not": "!", "is": "=="}.get(word.text)
            hint = f"write `{sign}`" if sign else ""
            message = f"`{word.text}` is not expected here"
            raise SyntaxProblem(message, word.offset, suggestion=hint)
        return tree

    @property
    def _word(self) -> Token:
        return self._words[self._at]

    def _take(self) -> Token:
        word = self._words[self._at]
        self._at += 1
        return word

    def _is(self, *signs: str) -> bool:
        word = self._word
        return word.kind in {"sign", "name"} and word.text in signs

    def _expect(self, sign: str) -> Token:
        if not self._is(sign):
            found = f"found `{self._word.text}`" if self._word.text else "the expression ends"
            self._refuse(f"`{sign}` is missing: {found}")
        return self._take()

    def _refuse(self, message: str, word: Token | None = None) -> NoReturn:
        raise SyntaxProblem(message, (word or self._word).offset)

    def _expression(self) -> Tree:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._refuse(f"the expression is nested deeper than {MAX_DEPTH} levels")
        condition = self._binary(0)
        if self._is("?"):
            self._take()
            yes = self._binary(0)
            self._expect(":")
            condition = Choice(condition.offset, condition, yes, self._expression())
        self._depth -= 1
        return condition

    def _binary(self, level: int) -> Tree:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._is(*_LEVELS[level]):
            sign = self._take()
            right = self._binary(level + 1)
            left = Binary(left.offset, sign.text, sign.offset, left, right)
        return left

    def _unary(self) -> Tree:
        signs = []
        while self._is("!", "-"):
            signs.append(self._take())
            if len(signs) > MAX_DEPTH:
                self._refuse(f"the expression is nested deeper than {MAX_DEPTH} levels")
        tree = self._member()
        for sign in reversed(signs):
            tree = Unary(sign.offset, sign.text, tree)
        return tree

    def _member(self) -> Tree:
        tree = self._primary()
        links = 0
        while self._is(".", "["):
            links += 1
            if links > MAX_DEPTH:
                self._refuse(f"a path has at most {MAX_DEPTH} parts")
            if self._take().text == "[":
                key = self._expression()
                self._expect("]")
                tree = Index(tree.offset, tree, key)
                continue
            field = self._take()
            if field.kind != "name" or field.text in {"in", "true", "false", "null"}:
                self._refuse("a name must follow the point", field)
            if self._is("("):
                tree = self._call(field, tree)
            else:
                tree = Select(tree.offset, tree, field.text, field.offset)
        return tree

    def _call(self, name: Token, target: Tree | None) -> Call:
        arguments = self._arguments()
        call = Call(name.offset, name.text, target, arguments)
        if target is not None and name.text in WALKS:
            if len(arguments) not in WALKS[name.text]:
                self._refuse(f"`{name.text}` takes a name and an expression", name)
            if call.walker is None:
                self._refuse(f"`{name.text}` takes the name of each item first", name)
        if name.text == HAS and target is None:
            paths = [argument for argument in arguments if isinstance(argument, Select)]
            if len(arguments) != 1 or not paths:
                self._refuse("`has` takes one path with a field, such as `has(input.id)`", name)
        return call

    def _arguments(self) -> tuple[Tree, ...]:
        self._expect("(")
        found: list[Tree] = []
        if not self._is(")"):
            found.append(self._expression())
            while self._is(","):
                self._take()
                found.append(self._expression())
        self._expect(")")
        return tuple(found)

    def _primary(self) -> Tree:  # noqa: PLR0911 - one for each kind
        word = self._take()
        if word.kind == "int":
            return Literal(word.offset, int(word.text, 0) if "x" in word.text else int(word.text))
        if word.kind == "float":
            return Literal(word.offset, float(word.text))
        if word.kind == "text":
            return Literal(word.offset, _unquoted(word.text))
        if word.kind == "name":
            return self._named(word)
        if word.text == "(":
            tree = self._expression()
            self._expect(")")
            return tree
        if word.text == "[":
            return self._list(word)
        if word.text == "{":
            return self._map(word)
        missing = "a value is missing: the expression ends"
        raise SyntaxProblem(
            f"`{word.text}` is not expected here" if word.text else missing, word.offset
        )

    def _named(self, word: Token) -> Tree:
        if word.text in {"true", "false", "null"}:
            return Literal(word.offset, {"true": True, "false": False, "null": None}[word.text])
        if word.text in _RESERVED or word.text == "in":
            self._refuse(f"`{word.text}` is a reserved word", word)
        if self._is("("):
            return self._call(word, None)
        return Name(word.offset, word.text)

    def _list(self, word: Token) -> Tree:
        found: list[Tree] = []
        while not self._is("]"):
            found.append(self._expression())
            if not self._is(","):
                break
            self._take()
        self._expect("]")
        return Items(word.offset, tuple(found))

    def _map(self, word: Token) -> Tree:
        found: list[tuple[Tree, Tree]] = []
        while not self._is("}"):
            key = self._expression()
            self._expect(":")
            found.append((key, self._expression()))
            if not self._is(","):
                break
            self._take()
        self._expect("}")
        return Entries(word.offset, tuple(found))


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)


def _unquoted(text: str) -> str:
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    size = 3 if text.startswith(('"""', "'''")) else 1
    inside = text[size:-size]
    if raw:
        return inside
    return _ESCAPE.sub(
        lambda match: (
            chr(int(match[1] or match[2], 16))
            if match[1] or match[2]
            else _ESCAPES.get(match[3], match[3])
        ),
        inside,
    )


def path_of(tree: Tree) -> tuple[Tree, list[str | int]] | None:
    """Return the root and the keys of a path such as `nodes.find.items[0]`; None if it is none."""
    keys: list[str | int] = []
    while not isinstance(tree, Name):
        if isinstance(tree, Select):
            keys.append(tree.field)
            tree = tree.operand
        elif isinstance(tree, Index) and isinstance(tree.key, Literal):
            if not isinstance(tree.key.value, str | int):
                return None
            keys.append(tree.key.value)
            tree = tree.operand
        else:
            return None
    return tree, keys[::-1]
