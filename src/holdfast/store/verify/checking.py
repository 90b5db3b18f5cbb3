"""Check keys and the entries of indexes against the rules, and whole dumps, as tests do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.store.verify.drifts import Drift, Entry, Kind, put, remove
from holdfast.store.verify.families import FAMILIES, THINGS, Family
from holdfast.store.verify.view import Dump, View


def violations(dump: Mapping[str, Any], now_ms: int | None = None) -> list[str]:
    """Return what is wrong with the data, one sentence each; nothing if all is well.

    The dump has all keys of a store with their values. With the time of the store, the check of
    work that waits after its deadline is exact.
    """
    return [f"{tag}: {drift}" for tag, drift in drifts_of(dump, now_ms)]


def drifts_of(dump: Mapping[str, Any], now_ms: int | None = None) -> Iterator[tuple[str, Drift]]:
    """Return the drifts of a dump with the tags of their partitions."""
    partitions: dict[str, dict[str, Any]] = defaultdict(dict)
    for key, value in dump.items():
        tag, _, name = key.partition("}:")
        partitions[tag + "}"][name] = value
    for tag, keys in partitions.items():
        view, scope = Dump(keys, now_ms), scope_of(tag)
        found: dict[Drift, None] = {}
        for key, value in keys.items():
            found.update(dict.fromkeys(check_key(view, scope, key)))
            if is_index(scope, key):
                for member in value:
                    found.update(dict.fromkeys(check_entry(view, scope, key, member)))
        yield from ((tag, drift) for drift in found)


def scope_of(tag: str) -> str:
    """Return what kind of partition a tag is of: the letter after its brace."""
    return tag.partition("{")[2][0]


def family_of(scope: str, key: str) -> Family | None:
    """Return the family of a key."""
    return FAMILIES.get(scope, {}).get(key.partition(":")[0])


def is_index(scope: str, key: str) -> bool:
    """Return whether a key is an index, whose entries are checked one by one."""
    family = family_of(scope, key)
    return family is not None and family.index is not None


def check_key(view: View, scope: str, key: str) -> Iterator[Drift]:
    """Check a key: is it known, does its owner exist, is it listed where it must be."""
    family, name = family_of(scope, key), key.partition(":")[2]
    if family is None:
        yield Drift(Kind.UNKNOWN, f"key {key}", "is of no known family")
        return
    # A key that went with its owner since it was listed is no orphan.
    if family.of is not None and not view.has(f"{family.of}:{name}") and view.has(key):
        text = f"belongs to no {_NOUNS.get(family.of, family.of)}"
        yield Drift(Kind.ORPHAN, f"key {key}", text, (("UNLINK", key),))
    if family.places is not None:
        yield from _check_places(view, scope, list(family.places(view, name)))
    if family.check is not None:
        yield from family.check(view, name)


def check_entry(view: View, scope: str, key: str, member: bytes) -> Iterator[Drift]:
    """Check an entry of an index: it must be one of the places of its owner."""
    family, name = family_of(scope, key), key.partition(":")[2]
    found = view.member(key, member)
    if family is None or family.index is None or found is None:
        return
    if family.each is not None:
        yield from family.each(view, member.decode())
    owner = family.owner(name, member, found) if family.owner is not None else None
    if owner is None:
        return
    kind, thing = owner
    places = list(THINGS[kind](view, thing)) if kind in THINGS else []
    if not any(place.key == key and place.member == member for place in places):
        text = f"has the entry {_shown(member)}, which nothing accounts for"
        yield Drift(Kind.EXTRA, f"index {key}", text, (remove(key, member, family.index),))
    elif family.things:
        yield from _check_places(view, scope, places)


def _check_places(view: View, scope: str, places: list[Entry]) -> Iterator[Drift]:
    view.prefetch(("m", place.key, place.member) for place in places)
    for place in places:
        found = view.member(place.key, place.member)
        family = family_of(scope, place.key)
        index = (family.index if family else None) or "zset"
        if found is None and not place.optional:
            text = f"lacks the entry {_shown(place.member)}"
            repairs = () if place.is_data else (put(place, index),)
            yield Drift(Kind.MISSING, f"index {place.key}", text, repairs)
        elif found is not None and not place.fits(found):
            wrong = f"has {_shown(place.member)} at {_value(found)}"
            text = f"{wrong}, should be {_value(place.value)}"
            yield Drift(Kind.WRONG, f"index {place.key}", text, (put(place, index),))


_NOUNS = {"x": "execution", "S": "session", "routes": "ready work"}


def _shown(member: bytes) -> str:
    return member.decode(errors="replace").replace("\0", "|")


def _value(value: float | bytes | None) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else f"{value:.17g}"
