"""Whose request it is: the providers of packs look at it, each at the headers that it declared.

A provider that declares `identify` is asked with the operation `identify`. Answers are ordered:
UNSUPPORTED < NO_MATCH < IDENTIFIED. Of several answers about a type the highest counts, and two
different ids are an error, never a choice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from holdfast.errors import AmbiguousIdentity, InvalidInput, ProviderFailed
from holdfast.host.packs.definition import Provider
from holdfast.model import bounds

#: How many headers a request may have.
HEADERS = 200
_ID_CHARS = bounds.ID_CHARS


class Match(IntEnum):
    """How well a provider knows whose a request is."""

    #: The provider does not look at requests, or no pack has it.
    UNSUPPORTED = 0
    #: It looked, and the request is of none that it knows.
    NO_MATCH = 1
    IDENTIFIED = 2


@dataclass(frozen=True, slots=True)
class Identity:
    """What is known of a request, for one type of providers."""

    match: Match = Match.UNSUPPORTED
    #: The id of the instance that was identified, such as that of a bot.
    id: str | None = None

    def merged(self, other: Identity) -> Identity:
        """Return what two packs know together; raises AmbiguousIdentity if their ids differ."""
        if self.match is other.match is Match.IDENTIFIED and self.id != other.id:
            message = f"one provider identified {self.id} and another {other.id}"
            raise AmbiguousIdentity(message, ids=sorted((str(self.id), str(other.id))))
        return max(self, other, key=lambda one: one.match)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound:
    """A request as it came: headers may repeat, and the names of headers have no case."""

    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def __post_init__(self) -> None:
        if len(self.headers) > HEADERS:
            raise InvalidInput(f"headers: more than {HEADERS}", field="headers")
        if len(self.body) > bounds.PAYLOAD_BYTES:
            raise InvalidInput(f"body: more than {bounds.PAYLOAD_BYTES} bytes", field="body")

    def seen_by(self, provider: Provider) -> dict[str, Any]:
        """Return what a provider may see: the body, and the headers that it declared."""
        declared = {name.lower() for name in provider.identify_headers or ()}
        headers: dict[str, list[str]] = {}
        for name, value in self.headers:
            if name.lower() in declared:
                headers.setdefault(name.lower(), []).append(value)
        return {"headers": headers, "body": self.body.decode("utf-8", "replace")}


def read(type_: str, answer: Any) -> Identity:
    """Return what a provider answered: null, or `{"id": ID}`; raises ProviderFailed."""
    if answer is None:
        return Identity(Match.NO_MATCH)
    found = answer.get("id") if isinstance(answer, dict) else None
    if not isinstance(found, str) or not 0 < len(found) <= _ID_CHARS:
        message = (
            f"the provider {type_} answered neither null nor an id of up to {_ID_CHARS} characters"
        )
        raise ProviderFailed(message, type=type_, reason="invalid_identity")
    return Identity(Match.IDENTIFIED, found)


def merged(types: Iterable[str], answers: Iterable[tuple[str, Identity]]) -> dict[str, Identity]:
    """Return what all packs know together, for each of some types."""
    found = dict.fromkeys(types, Identity())
    for type_, identity in answers:
        found[type_] = found[type_].merged(identity)
    return found


def resolve(
    identities: Mapping[str, Identity], known: Mapping[str, Collection[str]]
) -> tuple[str, str] | None:
    """Return the type and the id of the one instance that a request is for; None if none is known.

    `known` has the instances that there are, by type. Whatever is not certain is refused with
    AmbiguousIdentity: two instances, one that was not set up, and a request that no provider
    recognises although several instances of its type exist.
    """
    found = [(type_, str(one.id)) for type_, one in identities.items() if one.id is not None]
    for type_, instance in found:
        if instance not in known.get(type_, ()):
            message = f"the request is of {type_} {instance}, which is not set up here"
            raise AmbiguousIdentity(message, type=type_, id=instance)
    if len(found) > 1:
        names = [f"{type_} {instance}" for type_, instance in found]
        raise AmbiguousIdentity(f"the request is of {' and of '.join(names)}", ids=names)
    for type_, one in identities.items():
        if not found and one.match is Match.NO_MATCH and len(known.get(type_, ())) > 1:
            message = f"the request is of none of the {len(known[type_])} instances of {type_}"
            raise AmbiguousIdentity(message, type=type_)
    return found[0] if found else None
