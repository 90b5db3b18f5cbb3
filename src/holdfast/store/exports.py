"""Exported executions: complete, in the form in which the store keeps them.

This module also decodes them, so no other code knows that form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.model import records
from holdfast.model.exports import Exported


def from_reply(row: Sequence[Any]) -> Exported:
    """Decode a reply."""
    execution_id, fields, sections = row
    named = {
        name.decode(): value for name, value in zip(sections[::2], sections[1::2], strict=True)
    }
    return Exported(execution_id.decode(), records.pairs(fields), named)


def restore_args(exported: Exported) -> list[str | bytes]:
    """Return the record and the sections in the form that restore.lua reads."""
    fields = [part for pair in exported.fields.items() for part in pair]
    args: list[str | bytes] = [str(len(fields)), *fields]
    for name, value in exported.sections.items():
        if isinstance(value, bytes):
            args += [name, "-1", value]
        else:
            args += [name, str(len(value)), *value]
    return args
