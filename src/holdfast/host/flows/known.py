"""What flows of a pack may refer to, as pack.yaml declares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.host.flows.model import NodeKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation of a component; schemas that it does not declare are None."""

    input: Any = None
    output: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Names that a pack declares. What is None is not checked, as for a single file."""

    #: Operations by component.
    components: Mapping[str, Mapping[str, Operation]] | None = None
    #: Operations by type of provider.
    providers: Mapping[str, frozenset[str]] | None = None
    models: frozenset[str] | None = None
    secrets: frozenset[str] | None = None
    #: Hosts that http nodes may call; `*.example.com` means all below it.
    http_allow: frozenset[str] | None = None
    #: Ids of flows outside the files that are checked, such as those of a main pack.
    flows: frozenset[str] = field(default_factory=frozenset)
    #: Kinds that the host runs.
    kinds: frozenset[NodeKind] = frozenset(NodeKind)
    #: Whether flows that are not in the files are an error.
    is_whole: bool = True


def operations(names: Mapping[str, list[str]]) -> dict[str, dict[str, Operation]]:
    """Return components whose operations have no schemas."""
    return {name: {one: Operation() for one in ones} for name, ones in names.items()}
