"""Bodies of submissions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.client.http import refusal_of
from holdfast.errors import HoldfastError
from holdfast.model import payloads
from holdfast.model.declarations import stated
from holdfast.model.executions import ExecutionId, NewExecution, Submitted
from holdfast.model.ids import new_id
from holdfast.model.resubmissions import Resubmission
from holdfast.model.retry import RetryPolicy
from holdfast.model.states import State


def body_of(item: NewExecution, tenant: str | None) -> tuple[dict[str, Any], bool]:
    """Return the body of an item, and whether its id was generated here.

    An id makes the call safe to repeat; so does the key of a debounce or throttle.
    """
    body = template_of(item, tenant)
    minted = item.id is None and item.idempotency_key is None and item.window is None
    if minted:
        body["id"] = new_id()
    return body, minted


def template_of(item: NewExecution, tenant: str | None) -> dict[str, Any]:
    """Return the fields of an item. The tenant of the key does not have to be named."""
    body = stated(item)
    del body["input"]
    body |= payloads.fields("input", item.input)
    if item.retry is not None and "retry" in body:
        body["retry"] = _retry(item.retry)
    if tenant is not None and "tenant" not in body:
        body["tenant"] = tenant
    return body


def resubmission_body(changes: Resubmission) -> tuple[dict[str, Any], bool]:
    """Return the body of a resubmission, and whether its id was generated here."""
    body: dict[str, Any] = {"id": changes.id or new_id()}
    if changes.input is not None:
        body |= payloads.fields("input", changes.input)
    for name in ("lane", "priority", "tags"):
        if getattr(changes, name) is not None:
            body[name] = getattr(changes, name)
    return body, changes.id is None


def _retry(policy: RetryPolicy) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(policy)
    return built


def answer_of(view: Mapping[str, Any], *, minted: bool) -> Submitted | HoldfastError:
    """Read the answer for an item; with a generated id it can be a duplicate only of itself."""
    if "code" in view:
        return refusal_of(view)
    return submitted_of(view, minted=minted)


def submitted_of(view: Mapping[str, Any], *, minted: bool) -> Submitted:
    """Read the answer to a submission that was accepted."""
    duplicate = bool(view.get("duplicate")) and not minted
    return Submitted(id=ExecutionId(view["id"]), state=State(view["state"]), duplicate=duplicate)
