"""The providers that Holdfast has: the modules of the package `providers`, loaded when needed.

The web chat is one too, but no service: it calls no webhooks.
"""

from __future__ import annotations

import functools
from importlib import import_module
from pkgutil import iter_modules

from holdfast.channels import providers, webchat
from holdfast.channels.provider import Provider
from holdfast.model import checks

#: The names of the providers that call webhooks.
NAMES: tuple[str, ...] = tuple(sorted(module.name for module in iter_modules(providers.__path__)))

#: Those that an endpoint can have.
ALL_NAMES: tuple[str, ...] = (*NAMES, webchat.PROVIDER.name)


@functools.cache
def provider(name: str) -> Provider:
    """Return a provider; raises InvalidInput."""
    checks.one_of("provider", name, ALL_NAMES)
    if name == webchat.PROVIDER.name:
        return webchat.PROVIDER
    found: Provider = import_module(f"{providers.__name__}.{name}").PROVIDER
    return found
