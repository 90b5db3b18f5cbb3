"""Command groups, one per noun. Without a verb, a group lists or shows its objects."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class Noun(TyperGroup):
    """A group for which `holdfast lanes` means `holdfast lanes ls`."""

    verb = "ls"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the default verb if no verb is given."""
        if not args or (args[0].startswith("-") and "--help" not in args):
            args = [self.verb, *args]
        return super().parse_args(ctx, args)


class Settings(Noun):
    """A group for which `holdfast config` means `holdfast config show`."""

    verb = "show"


class Verbs(Noun):
    """A group without a usual verb: `holdfast pack` shows its help."""

    verb = "--help"
