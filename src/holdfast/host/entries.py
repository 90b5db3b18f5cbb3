"""Which flow of loaded packs a message starts."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.host.flows.model import FlowType
from holdfast.host.packs import Pack
from holdfast.host.packs.definition import FlowFile
from holdfast.model import entries

#: A pack and one of its flows.
Target = tuple[Pack, FlowFile]


def resolve(
    packs: Sequence[Pack],
    *,
    pack: str | None = None,
    flow: str | None = None,
    type: FlowType | None = None,  # noqa: A002 - its name
) -> Target:
    """Return the flow that is meant, among the packs of which the first is the main one.

    Raises FlowNotFound and AmbiguousFlow, as `model.entries.resolve` does.
    """
    offered = [one.entries for one in packs]
    owner, name = entries.resolve(offered, pack=pack, flow=flow, type=type)
    found = next(one for one in packs if one.id == owner)
    return found, found.definition.flows[name]
