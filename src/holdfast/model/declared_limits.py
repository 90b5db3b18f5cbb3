"""Quotas and budgets that code declares: workers create them, and publish them with their tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from holdfast.errors import InvalidInput
from holdfast.model import bounds, checks
from holdfast.model.budgets import Budget, Limit, NewBudget
from holdfast.model.quotas import NewQuota, Quota

#: The fields of a quota that code can declare; those of a budget are `limits` and these.
_QUOTA = ("max_concurrent", "max_per_window", "window_ms")
_BUDGET = ("reset_ms", "on_hard")
#: The most limits that are published with a task.
MOST = bounds.BUDGETS + bounds.QUOTAS


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredLimit:
    """A quota or budget as code declares it; checked when it is made."""

    noun: Literal["quota", "budget"]
    id: str
    #: The arguments of its creation.
    fields: Mapping[str, Any]

    def __post_init__(self) -> None:
        self._made()

    def _made(self) -> NewQuota | NewBudget:
        allowed = _QUOTA if self.noun == "quota" else ("limits", *_BUDGET)
        checks.known_fields(self.noun, self.fields, allowed)
        make = NewQuota if self.noun == "quota" else NewBudget
        return make(id=self.id, **self.fields)

    def view(self) -> dict[str, Any]:
        """Return the form that is published with a task; `read` is the reverse."""
        return {"noun": self.noun, "id": self.id, **self.fields}

    def differences(self, stored: Quota | Budget) -> Iterator[str]:
        """Yield how the stored limit differs from the code."""
        made = self._made()
        for name in _QUOTA if self.noun == "quota" else _BUDGET:
            ours, theirs = getattr(made, name), getattr(stored, name)
            if ours != theirs:
                yield f"{name} is {_shown(theirs)} in the store, {_shown(ours)} in code"
        if isinstance(made, NewBudget) and isinstance(stored, Budget):
            for dimension in sorted({*made.limits, *stored.limits}):
                ours, theirs = (each.limits.get(dimension, Limit()) for each in (made, stored))
                for name in ("hard", "soft"):
                    mine, other = getattr(ours, name), getattr(theirs, name)
                    if mine != other:
                        yield (
                            f"{name} limit of {dimension} is {_shown(other)} in the store, "
                            f"{_shown(mine)} in code"
                        )


def read(kind: str, description: Mapping[str, Any]) -> tuple[DeclaredLimit, ...]:
    """Return the limits that a published task declares; raises InvalidInput."""
    field = f"{kind}.limits"
    given = description.get("limits") or []
    if not isinstance(given, list) or len(given) > MOST:
        checks.refuse(field, "must be a short list", given)
    return tuple(_read(field, row) for row in given)


def _read(field: str, row: Any) -> DeclaredLimit:
    fields = dict(checks.mapping(field, row))
    noun = checks.one_of(f"{field}.noun", fields.pop("noun", None), ("quota", "budget"))
    limit_id = fields.pop("id", None)
    try:
        return DeclaredLimit(
            noun="quota" if noun == "quota" else "budget", id=limit_id, fields=fields
        )
    except (TypeError, msgspec.ValidationError) as error:
        raise InvalidInput(f"{field}: {error}", field=field) from error


def _shown(value: Any) -> str:
    return "none" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
