"""Orders of a small shop."""

from __future__ import annotations

from typing import Any

ORDERS: dict[str, dict[str, Any]] = {
    "A17": {"id": "A17", "status": "on its way", "total": 80},
    "B4": {"id": "B4", "status": "delivered", "date": "2026-01-05", "total": 12},
}


def find(input: dict[str, Any], host: Any) -> dict[str, Any]:  # noqa: A002 - its name
    """Return an order."""
    if input["id"] not in ORDERS:
        host.fail("not_found", f"there is no order {input['id']}")
    return ORDERS[input["id"]]


def refund(input: dict[str, Any], host: Any) -> dict[str, Any]:  # noqa: A002 - its name
    """Pay an order back, once: the same key again gets the same receipt."""
    host.log(f"pay {input['total']} EUR back for {input['id']} ({host.call.idempotency_key})")
    return {"receipt": f"R-{input['id']}"}


def note(input: dict[str, Any], host: Any) -> dict[str, Any]:  # noqa: A002 - its name
    """Note a problem for the people of the shop."""
    host.log(f"orders cannot be seen: {input['about']}", level="warning")
    return {"noted": True}
