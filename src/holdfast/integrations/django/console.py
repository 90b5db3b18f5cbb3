"""Links from pages of Django to pages of the console."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from django.utils.html import format_html

from holdfast.integrations.django import conf


def console_url(execution_id: str) -> str | None:
    """Return the page of an execution; None without `HOLDFAST["CONSOLE"]`."""
    console = conf.read().console
    if not console or not execution_id:
        return None
    return f"{console.rstrip('/')}/console/runs/{quote(execution_id, safe='')}"


def console_link(field: str, label: str = "execution") -> Callable[[Any], str]:
    """Return a column for `list_display` or `readonly_fields` of an admin.

    It links the id that a field of the model has to the page of the execution.
    """

    def column(row: Any) -> str:
        execution_id = str(getattr(row, field) or "")
        url = console_url(execution_id)
        return format_html('<a href="{}">{}</a>', url, execution_id) if url else execution_id

    vars(column).update(short_description=label, admin_order_field=field)
    return column
