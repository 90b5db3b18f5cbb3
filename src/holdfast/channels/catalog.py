"""The providers that Holdfast has: the modules of the package `providers`, loaded when needed."""

from __future__ import annotations

import functools
from importlib import import_module
from pkgutil import iter_modules

from holdfast.channels import providers
from holdfast.channels.provider import Provider
from holdfast.model import checks

#: The names of all providers.
NAMES: tuple[str, ...] = tuple(sorted(module.name for module in iter_modules(providers.__path__)))


@functools.cache
def provider(name: str) -> Provider:
    """Return a provider; raises InvalidInput."""
    checks.one_of("provider", name, NAMES)
    found: Provider = import_module(f"{providers.__name__}.{name}").PROVIDER
    return found
