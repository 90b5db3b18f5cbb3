"""Wait for the end of an execution and show why it has not ended yet."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from holdfast.cli.terminal import output
from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.api import Engine
    from holdfast.model.executions import Outcome

_LOOK_EVERY_S = 1.0


async def wait_for_end(engine: Engine, execution_id: str, timeout_s: float | None) -> Outcome:
    """Wait for the end; raise ResultNotReady when the time is over."""
    with output.status(f"waiting for {execution_id}") as tell:
        telling = asyncio.ensure_future(_tell(engine, execution_id, tell))
        try:
            return await engine.wait(execution_id, timeout_s=timeout_s)
        finally:
            telling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await telling


async def _tell(engine: Engine, execution_id: str, tell: Callable[[str], None]) -> None:
    while True:
        await asyncio.sleep(_LOOK_EVERY_S)
        with contextlib.suppress(HoldfastError):
            execution = await engine.describe(execution_id)
            explanation = await engine.explain(execution_id)
            text = f"{execution_id}: {explanation.why}"
            if execution.progress_pct is not None:
                text += f" {execution.progress_pct:g} % {execution.progress_message or ''}"
            tell(text)
