"""Which flow a message starts: the one that it names, the only one of a type, or the entry."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import AmbiguousFlow, FlowNotFound
from holdfast.host.flows.model import FlowType
from holdfast.host.flows.problems import did_you_mean
from holdfast.host.packs import Pack
from holdfast.host.packs.definition import FlowFile

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

    Raises FlowNotFound if there is none, and AmbiguousFlow if there are several. Internal flows
    are never meant.
    """
    named = packs if pack is None else [one for one in packs if one.id == pack]
    if not named:
        hint = did_you_mean(str(pack), [one.id for one in packs])
        message = f"there is no pack `{pack}` here ({hint})"
        raise FlowNotFound(message, pack=pack)
    if flow is None and type is None:
        return _entry(named[0])
    entries = [(one, file) for one in named for file in one.definition.flows.values()]
    entries = [(one, file) for one, file in entries if file.is_entry]
    if flow is not None:
        found = [target for target in entries if target[1].id == flow]
        words = f"flow `{flow}`"
        hint = did_you_mean(flow, [file.id for _, file in entries])
    else:
        found = [target for target in entries if target[1].type is type]
        words = f"flow of the type {type}"
        hint = ""
    return _only(found, words if pack is None else f"{words} in the pack `{pack}`", hint)


def _only(found: list[Target], words: str, hint: str) -> Target:
    if not found:
        message = f"there is no {words} to start" + (f" ({hint})" if hint else "")
        raise FlowNotFound(message)
    if len(found) > 1:
        names = [f"{one.id}/{file.id}" for one, file in found]
        message = f"there is more than one {words}: {', '.join(names)}; name one of them"
        raise AmbiguousFlow(message, flows=names)
    return found[0]


def _entry(pack: Pack) -> Target:
    definition = pack.definition
    if definition.entry is not None:
        return pack, definition.flows[definition.entry]
    entries = [file.id for file in definition.flows.values() if file.is_entry]
    if not entries:
        message = f"the pack `{pack.id}` has no flow that a message can start"
        raise FlowNotFound(message, pack=pack.id)
    message = (
        f"the pack `{pack.id}` has several flows and no `entry`; name one of {', '.join(entries)}"
    )
    raise AmbiguousFlow(message, flows=[f"{pack.id}/{one}" for one in entries])
