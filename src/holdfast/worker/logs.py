"""What a line of a log says about the attempt that it belongs to."""

from __future__ import annotations

from typing import Any

from holdfast.model.executions import Claim


def fields(claim: Claim) -> dict[str, Any]:
    """Return the fields of a log record about an attempt."""
    return {
        "tenant": claim.tenant,
        "execution": claim.id,
        "kind": claim.kind,
        "attempt": claim.lease.attempt,
    }
