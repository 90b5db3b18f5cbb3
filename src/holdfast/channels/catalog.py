"""The providers that Holdfast has, found by the modules of the package `providers`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from holdfast.channels import providers
from holdfast.channels.provider import Provider
from holdfast.model import checks


def _found() -> dict[str, Provider]:
    modules = [
        import_module(f"{providers.__name__}.{module.name}")
        for module in iter_modules(providers.__path__)
    ]
    made: list[Provider] = [module.PROVIDER for module in modules]
    return {one.name: one for one in made}


#: By name.
PROVIDERS: dict[str, Provider] = _found()


def provider(name: str) -> Provider:
    """Return a provider; raises InvalidInput."""
    return PROVIDERS[checks.one_of("provider", name, PROVIDERS)]
