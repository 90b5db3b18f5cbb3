"""What the end of an execution means for the children that it submitted."""

from __future__ import annotations

import re
from enum import StrEnum

from holdfast.model import checks

#: The id of a child, and of a graph of a task: PARENT~REPLAY.NUMBER and PARENT~REPLAY.gNUMBER.
_CHILD = re.compile(r".+~[0-9]+\.g?[0-9]+\Z")


class OnParentEnd(StrEnum):
    """What happens to a child when its parent ends."""

    #: It runs on.
    KEEP = "keep"
    #: It is cancelled.
    CANCEL = "cancel"
    #: It is cancelled; and if it ends first without completing, its parent fails.
    FAIL_PARENT = "fail_parent"


def check_policy(value: object) -> OnParentEnd:
    """Check what happens when the parent ends."""
    return OnParentEnd(checks.one_of("on_parent_end", value, tuple(OnParentEnd)))


def bond(policy: str, execution_id: str | None) -> str | None:
    """Return the bond that the store keeps; None for one that has no parent, or outlives it."""
    is_bound = policy != OnParentEnd.KEEP and execution_id and _CHILD.match(execution_id)
    return str(policy) if is_bound else None


def describe_bonds(parent: str | None, policy: str | None, bound: int) -> str:
    """Return what its end and that of its parent mean for each other, as further sentences."""
    text = ""
    if policy == OnParentEnd.CANCEL:
        text = f" It is cancelled when its parent {parent} ends."
    elif policy == OnParentEnd.FAIL_PARENT:
        text = f" Its parent {parent} fails with it, and it is cancelled when its parent ends."
    if bound:
        text += (
            f" It has {'1 child' if bound == 1 else f'{bound:,} children'} to cancel at its end."
        )
    return text
