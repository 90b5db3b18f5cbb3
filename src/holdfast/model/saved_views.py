"""Saved views: filters of a page of the console under a name."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.model import bounds, checks


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedView:
    """A page of the console with its filters."""

    name: str
    #: The page, such as `runs`.
    page: str
    #: The filters, as the query of an address.
    query: str = ""

    def __post_init__(self) -> None:
        check_view_name(self.name)
        checks.name("page", self.page)
        checks.text("query", self.query, bounds.SAVED_VIEW_CHARS)


def check_view_name(name: object) -> str:
    """Check the name of a view: any text on one line."""
    return checks.text("name", name, bounds.SAVED_VIEW_NAME_CHARS, empty=False)
