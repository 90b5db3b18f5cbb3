"""A call of a component that is ready to run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from holdfast.host.components.failures import failed
from holdfast.host.components.limits import INPUT_BYTES, Limits
from holdfast.host.components.services import Requests
from holdfast.host.flows.runners import ComponentCall, Invocation


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A call with its limits."""

    operation: str
    #: The input, in JSON.
    input: bytes
    about: Invocation
    timeout_ms: int
    requests: Requests

    @property
    def facts(self) -> dict[str, str]:
        """What the component gets to know of the call."""
        about = self.about
        return {
            "execution": about.execution,
            "tenant": about.tenant,
            "env": about.env,
            "flow": about.flow,
            "node": about.node,
            "idempotency_key": about.idempotency_key,
        }

    def envelope(self, **more: Any) -> bytes:
        """Return the operation, the input and the facts, in JSON."""
        return msgspec.json.encode(
            {
                "operation": self.operation,
                "input": msgspec.Raw(self.input),
                "call": self.facts,
                **more,
            }
        )


class Runner(Protocol):
    """A component that can be called."""

    @property
    def limits(self) -> Limits:
        """The bounds of a call."""
        ...

    async def run(self, call: Prepared) -> bytes:
        """Return the output in JSON; raises NodeFailed."""
        ...

    async def close(self) -> None:
        """Give back what it holds."""
        ...


def prepare(call: ComponentCall, limits: Limits, requests: Requests) -> Prepared:
    """Check a call; raises NodeFailed."""
    try:
        given = msgspec.json.encode(call.input)
    except (TypeError, ValueError, RecursionError):
        raise failed("component_invalid_input") from None
    if len(given) > INPUT_BYTES:
        raise failed("component_invalid_input")
    return Prepared(
        operation=call.operation,
        input=given,
        about=call.about,
        timeout_ms=max(1, min(limits.timeout_ms, call.about.timeout_ms)),
        requests=requests,
    )
