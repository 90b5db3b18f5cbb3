"""Decisions about messages before a flow gets them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from holdfast.host.flows.stages import Stage
from holdfast.model.directives import Act
from holdfast.worker.messages import ChatMessage


class Directive(msgspec.Struct, frozen=True, omit_defaults=True):
    """A decision about a message, as it is recorded."""

    act: Act
    #: Where `dispatch` goes.
    flow: str | None = None
    #: What the flow gets in `input.entities`.
    entities: dict[str, Any] | None = None
    #: What the user reads.
    text: str | None = None
    #: What decided: `rule N` or `component NAME`.
    by: str | None = None
    #: Why there is no other decision than to continue.
    failure: str | None = None

    @property
    def answers(self) -> bool:
        """Whether the user gets a text, and no flow runs."""
        return self.act in {Act.RESPOND, Act.DENY}

    def given(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the flow gets as its input."""
        entities = {} if self.entities is None else {"entities": self.entities}
        return {**payload, **entities}


CONTINUE = Directive(Act.CONTINUE)
#: Decides about a message that would start a conversation; the decision is recorded.
Direct: TypeAlias = Callable[[Stage, ChatMessage], Awaitable[Directive]]
