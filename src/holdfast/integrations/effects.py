"""Effects in a database that happen exactly once: the step is recorded with its effect.

Holdfast records a step after it ran. A process that dies in between runs it again. Here the result
is also a row, committed with the effect: a later attempt finds the row, and does not repeat it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from holdfast.worker.context import Context
from holdfast.worker.stepping import result_encoding
from holdfast.worker.sync_context import SyncContext


class EffectStep:
    """A step that has a row."""

    def __init__(self, ctx: Context | SyncContext, name: str, fn: Callable[..., Any]) -> None:
        self._ctx = ctx
        self._name = name
        self._encoding = result_encoding(fn)
        #: A digest of the execution, its run and the name of the step.
        self.key: str = hashlib.sha256(ctx.idempotency_key(name).encode()).hexdigest()

    def row(self, result: bytes) -> dict[str, Any]:
        """Return the row to write before the commit; a worker without its lease must not commit."""
        self._ctx.check()
        return {"key": self.key, "execution": self._ctx.id, "step": self._name, "result": result}

    def encode(self, value: Any) -> bytes:
        """Encode a result by the hint of the function."""
        return self._encoding.encode_result(value, self._ctx.claim.kind, self._name)

    def decode(self, result: bytes) -> Any:
        """Return a result as the function returned it."""
        return self._encoding.decode(result)

    def hinted(self, run: Callable[[], Any]) -> Callable[[], Any]:
        """Give a function the result hint of the step, by which it is recorded."""
        run.__annotations__["return"] = self._encoding.hint
        return run
