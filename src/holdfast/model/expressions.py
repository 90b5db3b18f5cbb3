"""Expressions on payloads: CEL, which has no side effects and always terminates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from holdfast.errors import InvalidCondition
from holdfast.model import bounds

#: The variables of an expression.
VARIABLES = frozenset({"payload", "name", "source"})
#: Macros that walk a list; nested ones would make the cost quadratic in the payload.
_WALK = re.compile(r"\.\s*(?:all|exists|exists_one|map|filter)\s*\(\s*(\w*)")


def check(field: str, text: Any) -> str:
    """Check that an expression can be evaluated in time linear in the payload."""
    if not isinstance(text, str) or not 0 < len(text) <= bounds.EXPRESSION_CHARS:
        problem = f"{field}: must be an expression of 1 to {bounds.EXPRESSION_CHARS} characters"
        raise InvalidCondition(problem, field=field)
    walks = list(_WALK.finditer(text))
    walkers = {walk[1] for walk in walks}
    if any(re.search(r"\bpayload\b", _inside(text, walk.start(1))) for walk in walks):
        problem = f"{field}: may not refer to payload for each item of a list"
        raise InvalidCondition(problem, field=field)
    if len(walks) > 1:
        problem = f"{field}: may walk over one list only (all, exists, exists_one, map, filter)"
        raise InvalidCondition(problem, field=field)
    try:
        program = _compile(text)
    except ValueError as error:
        lines = str(error).splitlines()
        problem = f"{field}: is not a CEL expression: {lines[0][:200]}"
        raise InvalidCondition(problem, field=field) from error
    unknown = sorted(set(program.variables()) - VARIABLES - walkers)
    if unknown:
        known = ", ".join(sorted(VARIABLES))
        problem = f"{field}: refers to {', '.join(unknown)}, but there is only {known}"
        raise InvalidCondition(problem, field=field)
    return text


def _inside(text: str, start: int) -> str:
    """Return the text up to the closing parenthesis."""
    depth = 1
    for at, character in enumerate(text[start:], start):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[start:at]
    return text[start:]


def holds(text: str, variables: Mapping[str, Any]) -> bool:
    """Evaluate a checked expression. If it cannot be evaluated, it does not hold."""
    try:
        return _compile(text).execute(dict(variables)) is True
    except Exception:  # noqa: BLE001 - a payload from outside must not break its receiver
        return False
    except BaseException as error:
        # A panic of the evaluator raises this.
        if type(error).__name__ != "PanicException":
            raise
        return False


@lru_cache(maxsize=1024)
def _compile(text: str) -> Any:
    import cel  # noqa: PLC0415 - loaded when used

    return cel.compile(text)
