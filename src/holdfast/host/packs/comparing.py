"""Packs as plain values, so that two of them can be compared."""

from __future__ import annotations

import hashlib
from typing import Any

import yaml

from holdfast.host.packs.packs import Pack


def content_of(pack: Pack) -> dict[str, Any]:
    """Return what is in a pack: YAML files as their values, others by their digests."""
    return {name: _content(name, data) for name, data in sorted(pack.files.items())}


def _content(name: str, data: bytes) -> Any:
    if name.endswith((".yaml", ".yml")):
        try:
            return yaml.safe_load(data)
        except (yaml.YAMLError, ValueError, RecursionError):
            pass
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
