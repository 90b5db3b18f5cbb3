"""What one call of a component may use."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.host.packs.definition import ComponentLimits

#: How large the input of a call may be, in JSON.
INPUT_BYTES = 1_048_576


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of one call. The host has defaults, and a most that packs cannot exceed."""

    timeout_ms: int = 10_000
    memory_mb: int = 64
    output_kb: int = 256
    #: Instructions of a WASM call; None leaves them to the time limit.
    fuel: int | None = None

    @property
    def memory_bytes(self) -> int:
        """The memory, in bytes."""
        return self.memory_mb << 20

    @property
    def output_bytes(self) -> int:
        """The size of the output, in bytes."""
        return self.output_kb << 10

    def of(self, declared: ComponentLimits, most: Limits) -> Limits:
        """Return the bounds of a component: what it declares, these where it says nothing."""
        return Limits(
            timeout_ms=min(declared.timeout_ms or self.timeout_ms, most.timeout_ms),
            memory_mb=min(declared.memory_mb or self.memory_mb, most.memory_mb),
            output_kb=min(declared.output_kb or self.output_kb, most.output_kb),
            fuel=declared.fuel or self.fuel,
        )


#: The limits of components that declare none, unless the host says otherwise.
USUAL = Limits()
#: The most that a pack can declare, unless the host says otherwise.
MOST = Limits(timeout_ms=300_000, memory_mb=512, output_kb=1_024)
