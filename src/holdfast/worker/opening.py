"""Opens an app for a worker that outlasts its store."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator

from holdfast.errors import StoreUnavailable
from holdfast.worker.app import App

log: logging.Logger = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def opened(app: App) -> AsyncIterator[None]:
    """Open the app; wait while its store is unavailable, unless it is embedded."""
    async with contextlib.AsyncExitStack() as stack:
        opened = False
        while not opened:
            try:
                await stack.enter_async_context(app)
                opened = True
            except StoreUnavailable as error:
                if app.store.startswith("embedded:"):
                    raise
                log.warning("the worker is waiting for its store: %s", error)
        yield
