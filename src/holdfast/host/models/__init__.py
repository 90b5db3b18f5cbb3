"""Language models: any endpoint that speaks OpenAI's chat completions."""

from __future__ import annotations

from holdfast.host.models.nodes import ModelNodes

__all__ = ["ModelNodes"]
