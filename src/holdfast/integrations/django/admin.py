"""The outbox in the admin: entries that wait, and why some were refused."""

from __future__ import annotations

from typing import Any

from django.contrib import admin

from holdfast.errors import InvalidInput
from holdfast.integrations.django.console import console_link
from holdfast.integrations.django.models import OutboxEntry
from holdfast.integrations.outbox import Entry, decode


class _Row:
    """What the admin shows of an entry."""

    def __init__(self, row: OutboxEntry) -> None:
        try:
            entry = Entry(row.id, decode(bytes(row.execution)))
            self.kind, self.execution_id = entry.item.kind, entry.execution_id
        except InvalidInput:
            self.kind, self.execution_id = "", ""


@admin.register(OutboxEntry)
class OutboxAdmin(admin.ModelAdmin):
    """Entries are written by programs; people look at them, retry and delete them."""

    list_display = ("id", "task", "execution_page", "created_at", "refused")
    list_filter = (("refused", admin.EmptyFieldListFilter),)
    fields = readonly_fields = list_display
    search_fields = ("id",)
    actions = ("try_again",)

    @admin.display(description="task")
    def task(self, row: OutboxEntry) -> str:
        """Return the name of the task."""
        return _Row(row).kind

    @admin.display(description="execution")
    def execution_page(self, row: OutboxEntry) -> str:
        """Return a link to the console."""
        return console_link("execution_id")(_Row(row))

    @admin.action(description="Try refused entries again", permissions=["delete"])
    def try_again(self, request: Any, entries: Any) -> None:
        """Let the relay submit entries that were refused."""
        del request
        entries.update(refused=None)

    def has_add_permission(self, request: Any) -> bool:
        """Nobody writes a submission by hand."""
        del request
        return False
