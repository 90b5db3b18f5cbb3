"""Declarations: the published parts of a task that affect submissions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast.errors import InvalidInput
from holdfast.model import bounds, checks, declared_limits, names, schemas
from holdfast.model.executions import DEFAULTS, GIVEN, OPTIONS, NewExecution
from holdfast.model.sessions import Busy

_STATED = OPTIONS | {"input"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """How a conversation treats messages that come while a turn runs, and failures."""

    busy: Busy = Busy.QUEUE
    #: What the user reads when the conversation failed; None: a sentence of the store.
    apology: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """The options of a task, and the schema of its input."""

    options: Mapping[str, Any]
    #: The JSON Schema of inputs; None if inputs cannot be checked.
    schema: bytes | None
    #: Of a conversation: how it treats messages.
    conversation: Conversation | None = None

    def misfit(self, payload: bytes) -> InvalidInput | None:
        """Return the problem of an input, None if it fits; raises schemas.Uncheckable."""
        if self.schema is None:
            return None
        try:
            value = msgspec.json.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return InvalidInput(f"input: must be JSON ({error})", field="input")
        except RecursionError as error:
            raise schemas.Uncheckable("RecursionError") from error
        problem = schemas.misfit(self.schema, "input", value)
        if problem is not None and value is None:
            # A call without arguments may have null as its input.
            return schemas.misfit(self.schema, "input", {})
        return problem


def declaration(kind: str, description: Mapping[str, Any]) -> Declaration:
    """Read the description of a task; raises InvalidInput. Ignores options of later versions."""
    given = dict(checks.mapping(f"{kind}.options", description.get("options") or {}))
    if description.get("lane") is not None:
        given["lane"] = description["lane"]
    known = {name: value for name, value in given.items() if name in OPTIONS}
    try:
        item = msgspec.convert({"kind": kind, **known}, NewExecution)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{kind}.options: {error}", field=f"{kind}.options") from error
    except InvalidInput as error:
        field = f"{kind}.options.{error.context.get('field')}"
        raise InvalidInput(f"{kind}.options.{error.message}", field=field) from error
    options = {name: getattr(item, name) for name in known}
    return Declaration(
        options=options,
        schema=_schema(description.get("input")),
        conversation=_conversation(kind, description.get("conversation")),
    )


def _conversation(kind: str, given: Any) -> Conversation | None:
    if given is None:
        return None
    field = f"{kind}.conversation"
    checks.mapping(field, given)
    busy = checks.one_of(f"{field}.busy", given.get("busy", Busy.QUEUE.value), list(Busy))
    apology = given.get("apology")
    if apology is not None:
        checks.text(f"{field}.apology", apology, bounds.REASON_CHARS, empty=False)
    return Conversation(busy=Busy(busy), apology=apology)


def check(kind: str, description: Any, tenant: str | None) -> None:
    """Check a description that a worker publishes; raises InvalidInput.

    A task of one tenant names that tenant's limits only.
    """
    checks.mapping(kind, description)
    options = declaration(kind, description).options
    for field in ("budgets", "quotas"):
        for name in options.get(field, ()):
            if tenant is not None and names.parse(names.stored(tenant, name))[0] != tenant:
                checks.refuse(
                    f"{kind}.options.{field}", "must belong to the tenant of the task", name
                )
    checks.known_fields(f"{kind}.options", description.get("options") or {}, OPTIONS)
    declared_limits.read(kind, description)
    if not isinstance(description.get("input", True), dict | bool):
        problem = "must be a JSON Schema: an object or a boolean"
        checks.refuse(f"{kind}.input", problem, description["input"])


def _schema(schema: Any) -> bytes | None:
    """Return the schema for checks of inputs; None if it cannot or need not be checked."""
    if not isinstance(schema, dict) or "contentMediaType" in schema:
        return None
    try:
        encoded = msgspec.json.encode(schemas.checkable(schema))
    except RecursionError:
        return None
    return encoded if len(encoded) <= bounds.TASK_SCHEMA_BYTES else None


def stated(item: NewExecution) -> dict[str, Any]:
    """Return the input of an item, the options that it states, and other fields.

    Other fields that have their default value are left out.
    """
    return {
        name: value
        for name in GIVEN
        if name not in item.unset
        and ((value := getattr(item, name)) != DEFAULTS[name] or name in _STATED)
    }


def completed(item: NewExecution, options: Mapping[str, Any]) -> NewExecution:
    """Return the item with a task's checked options where it leaves them unset."""
    taken = {
        name: options[name]
        for name in item.unset & options.keys()
        if options[name] != getattr(item, name)
    }
    if not taken:
        return item
    if "budgets" in taken and item.budgets:
        # The budgets of its graph.
        both = dict.fromkeys((*taken["budgets"], *item.budgets))
        taken["budgets"] = checks.names("budgets", tuple(both), bounds.BUDGETS, check=checks.limit)
    whole = item.kept_as(item.input)
    for name, value in (taken | {"unset": frozenset(), "said": item.digest()}).items():
        object.__setattr__(whole, name, value)
    return whole
