"""Orders of a small shop."""

from __future__ import annotations

from typing import Any

ORDERS: dict[str, dict[str, Any]] = {
    "A17": {"id": "A17", "status": "on its way", "total": 80},
    "B4": {"id": "B4", "status": "delivered", "date": "2026-01-05", "total": 12},
}


class NotFoundError(Exception):
    """There is no such order."""

    code = "not_found"


def find(given: dict[str, Any]) -> dict[str, Any]:
    """Return an order."""
    order = ORDERS.get(given["id"])
    if order is None:
        raise NotFoundError(f"there is no order {given['id']}")
    return order


def refund(given: dict[str, Any]) -> dict[str, Any]:
    """Pay an order back."""
    return {"receipt": f"R-{given['id']}", "total": given["total"]}


def note(given: dict[str, Any]) -> dict[str, Any]:
    """Note a problem for the people of the shop."""
    return {"noted": given["about"]}
