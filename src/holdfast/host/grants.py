"""What a pack may use: the hosts and the secrets that its `pack.yaml` declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.host.packs.definition import Definition
from holdfast.host.packs.packs import Bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What the flows and components of one pack may use."""

    pack: str
    hosts: tuple[str, ...] = ()
    secrets: frozenset[str] = frozenset()

    @classmethod
    def of(cls, definition: Definition) -> Grant:
        """Return the grant of a pack."""
        return cls(
            pack=definition.id,
            hosts=definition.http_allow,
            secrets=frozenset(definition.secrets),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Grants:
    """The grants of a bundle: each flow and each component has that of its own pack."""

    flows: Mapping[str, Grant]
    components: Mapping[str, Grant]

    @classmethod
    def of(cls, bundle: Bundle) -> Grants:
        """Return the grants of a main pack and its overlays."""
        packs = {pack.id: Grant.of(pack.definition) for pack in bundle.packs}
        return cls(
            flows={name: packs[pack.id] for name, (pack, _) in bundle.flows.items()},
            components={name: packs[pack.id] for name, (pack, _) in bundle.components.items()},
        )
