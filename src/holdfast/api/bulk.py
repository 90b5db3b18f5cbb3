"""Bulk actions: cancel, replay, prioritize or resubmit every execution that matches a filter."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod

from holdfast.model.bulk import Bulk, NewBulk, Preview


class BulkActions(ABC):
    """Operations on bulk actions.

    A bulk action is an execution of the kind `holdfast.bulk`: processes with maintenance carry it
    out, and it continues after a crash. It acts once on each execution that matches when its turn
    comes and was created before the bulk action.
    """

    @abstractmethod
    async def preview(self, new: NewBulk) -> Preview:
        """Return how many executions a bulk action would act on, and the first of them."""

    @abstractmethod
    async def start(self, new: NewBulk) -> Bulk:
        """Start a bulk action. Safe to repeat with the same id.

        Raises SelectionChanged if the number of matching executions differs from the expected one
        by more than a tenth, and BulkConflict if the id means another bulk action.
        """

    @abstractmethod
    async def get(self, bulk_id: str, *, tenant: str | None = None) -> Bulk:
        """Return a bulk action and its progress. Raises BulkNotFound."""

    @abstractmethod
    async def list(self, *, tenant: str | None = None) -> builtins.list[Bulk]:
        """Return the last bulk actions of a tenant, or of all, newest first; 100 are kept."""

    @abstractmethod
    async def abort(self, bulk_id: str, *, tenant: str | None = None, reason: str = "") -> Bulk:
        """Stop a bulk action; executions that it has acted on stay as they are.

        Raises BulkNotFound, and AlreadyTerminal if it is completed. Replaying its execution
        continues it.
        """
