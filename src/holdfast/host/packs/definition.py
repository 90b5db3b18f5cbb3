"""What `pack.yaml` says, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from holdfast.host.flows.model import FlowType
from holdfast.host.yaml_source import Node

ROUTING_BUDGET_MS = 200
#: The operation of a component that routes.
ROUTE = "route"
#: The operations of a provider's component that the host calls by itself.
IDENTIFY, HEALTH = "identify", "health"


class ComponentKind(StrEnum):
    """How a component runs."""

    WASM = "wasm"
    PYTHON = "python"
    HTTP = "http"


class Busy(StrEnum):
    """What happens to a message that arrives while a turn runs."""

    QUEUE = "queue"
    MERGE = "merge"
    INTERRUPT = "interrupt"
    REJECT = "reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentLimits:
    """What one call of a component may use; None leaves it to the host."""

    timeout_ms: int | None = None
    memory_mb: int | None = None
    fuel: int | None = None
    output_kb: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """Code that flows call by operation."""

    name: str
    kind: ComponentKind
    #: A file of the pack, or for `http` a URL.
    source: str
    operations: tuple[str, ...]
    limits: ComponentLimits = ComponentLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A component that connects the pack to a channel."""

    type: str
    component: str
    operations: tuple[str, ...]
    #: The headers of a request that it may see to say whose it is; None if it does not look.
    identify_headers: tuple[str, ...] | None = None

    @property
    def identifies(self) -> bool:
        """Whether it can say whose a request is."""
        return self.identify_headers is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule of the routing; exactly one of dispatch, respond and deny is given."""

    when: Node
    dispatch: str | None = None
    entities: Node | None = None
    respond: Node | None = None
    deny: Node | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """What is done with a message before a flow gets it."""

    rules: tuple[Rule, ...] = ()
    component: str | None = None
    budget_ms: int = ROUTING_BUDGET_MS
    #: `continue` with the entry, or `fail` the message.
    on_error: str = "continue"

    def shown(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "rules": len(self.rules),
            "component": self.component,
            "budget_ms": self.budget_ms,
            "on_error": self.on_error,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSchedule:
    """Starts a flow by the clock."""

    flow: str
    cron: str
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """An endpoint of a language model that `llm` nodes name."""

    name: str
    base_url: str
    model: str
    key_secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowFile:
    """A file of flows/ and what is known of it before it is checked as a flow."""

    id: str
    path: str
    type: FlowType
    internal: bool
    #: The whole file.
    node: Node = field(repr=False)

    @property
    def is_entry(self) -> bool:
        """Whether a message can start it."""
        return not self.internal


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What `pack.yaml` says, with the defaults filled in."""

    id: str
    version: str
    #: The flow that is reached without naming one; None if there are several and none is named.
    entry: str | None
    flows: Mapping[str, FlowFile]
    components: Mapping[str, Component]
    providers: tuple[Provider, ...]
    welcome: str | None
    routing: Routing | None
    busy: Busy
    schedules: tuple[FlowSchedule, ...]
    secrets: tuple[str, ...]
    http_allow: tuple[str, ...]
    requires: tuple[str, ...]
    models: Mapping[str, Model]
    #: The whole file.
    node: Node = field(repr=False)

    def shown(self) -> dict[str, Any]:
        """Return it as JSON, for people who want to know what a pack does."""
        return {
            "id": self.id,
            "version": self.version,
            "entry": self.entry,
            "flows": [
                {
                    "id": flow.id,
                    "type": flow.type.value,
                    "internal": flow.internal,
                    "file": flow.path,
                }
                for flow in self.flows.values()
            ],
            "components": [
                {
                    "name": component.name,
                    "kind": component.kind.value,
                    "source": component.source,
                    "operations": list(component.operations),
                }
                for component in self.components.values()
            ],
            "providers": [provider.type for provider in self.providers],
            "welcome": self.welcome,
            "routing": None if self.routing is None else self.routing.shown(),
            "busy": self.busy.value,
            "schedules": [
                {"flow": entry.flow, "cron": entry.cron, "timezone": entry.timezone}
                for entry in self.schedules
            ],
            "secrets": list(self.secrets),
            "http_allow": list(self.http_allow),
            "requires": list(self.requires),
            "models": sorted(self.models),
        }
