"""Components: code of packs that flows call, each within its limits and its pack's declarations."""

from __future__ import annotations

from holdfast.host.components.components import Components
from holdfast.host.components.limits import Limits
from holdfast.host.components.sandbox import Sandbox, SandboxSettings
from holdfast.host.components.services import Services
from holdfast.host.components.wasm.wasi import WasiPolicy

__all__ = ["Components", "Limits", "Sandbox", "SandboxSettings", "Services", "WasiPolicy"]
