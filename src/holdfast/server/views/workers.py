"""Workers as replies show them."""

from __future__ import annotations

from holdfast.model.workers import Worker
from holdfast.server.views.derive import ModelView


class WorkerView(ModelView, model=Worker):
    """A worker as it last described itself."""
