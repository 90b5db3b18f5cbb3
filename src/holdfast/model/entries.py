"""Which flow a message starts: the one that it names, the only one of a type, or the entry."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import AmbiguousFlow, FlowNotFound
from holdfast.model.hints import did_you_mean
from holdfast.model.packs import PackEntries

#: The ids of a pack and of one of its flows.
Target = tuple[str, str]


def name_of(pack: str, flow: str) -> str:
    """Return the name of the conversation or task that an entry flow is. No two are the same."""
    return f"{pack}:{flow}"


def resolve(
    packs: Sequence[PackEntries],
    *,
    pack: str | None = None,
    flow: str | None = None,
    type: str | None = None,  # noqa: A002 - its name
) -> Target:
    """Return the flow that is meant, among the packs of which the first is the main one.

    Raises FlowNotFound if there is none, and AmbiguousFlow if there are several. Internal flows
    are never meant.
    """
    named = packs if pack is None else [one for one in packs if one.pack == pack]
    if not named:
        hint = did_you_mean(str(pack), [one.pack for one in packs])
        message = f"there is no pack `{pack}` here ({hint})"
        raise FlowNotFound(message, pack=pack)
    if flow is None and type is None:
        return _entry(named[0])
    flows = [(one.pack, name, kind) for one in named for name, kind in one.flows.items()]
    if flow is not None:
        found = [(owner, name) for owner, name, _ in flows if name == flow]
        words = f"flow `{flow}`"
        hint = did_you_mean(flow, [name for _, name, _ in flows])
    else:
        found = [(owner, name) for owner, name, kind in flows if kind == type]
        words = f"flow of the type {type}"
        hint = ""
    return _only(found, words if pack is None else f"{words} in the pack `{pack}`", hint)


def _only(found: list[Target], words: str, hint: str) -> Target:
    if not found:
        message = f"there is no {words} to start" + (f" ({hint})" if hint else "")
        raise FlowNotFound(message)
    if len(found) > 1:
        names = [f"{pack}/{flow}" for pack, flow in found]
        message = f"there is more than one {words}: {', '.join(names)}; name one of them"
        raise AmbiguousFlow(message, flows=names)
    return found[0]


def _entry(pack: PackEntries) -> Target:
    if pack.entry is not None:
        return pack.pack, pack.entry
    if not pack.flows:
        message = f"the pack `{pack.pack}` has no flow that a message can start"
        raise FlowNotFound(message, pack=pack.pack)
    listed = ", ".join(pack.flows)
    message = f"the pack `{pack.pack}` has several flows and no `entry`; name one of {listed}"
    raise AmbiguousFlow(message, flows=[f"{pack.pack}/{one}" for one in pack.flows])
