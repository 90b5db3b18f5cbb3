"""What a small shop knows: its orders and its hours."""

from __future__ import annotations

from typing import Any

ORDERS = {"A17": "on its way", "B4": "delivered"}
HOURS = {"saturday": "10 to 14", "sunday": "closed"}


def find_order(given: dict[str, Any], host: Any) -> dict[str, Any]:
    """Return an order and where it is."""
    order = str(given["id"]).upper()
    if order not in ORDERS:
        host.fail("not_found", f"there is no order {order}")
    return {"id": order, "status": ORDERS[order]}


def opening_hours(given: dict[str, Any], host: Any) -> dict[str, Any]:
    """Return when the shop is open on a day."""
    del host
    day = str(given.get("day", "monday")).lower()
    return {"day": day, "hours": HOURS.get(day, "9 to 18")}
