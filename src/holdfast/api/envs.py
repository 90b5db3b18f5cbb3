"""Envs: named targets of deployments, and whose packs each accepts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from holdfast.model.envs import Env


class Envs(ABC):
    """Operations on envs. `local` needs no creation."""

    @abstractmethod
    async def put(
        self, name: str, *, unsigned_packs: bool = False, trust: Sequence[str] = ()
    ) -> tuple[Env, bool]:
        """Create an env, or replace what it trusts; return it and whether it is new.

        Revisions that are staged already stay as they are.
        """

    @abstractmethod
    async def get(self, name: str) -> Env:
        """Return an env. Raises EnvNotFound."""

    @abstractmethod
    async def delete(self, name: str) -> None:
        """Delete an env without deployments; `local` always exists.

        Raises:
            EnvNotFound: there is no such env.
            EnvInUse: it has deployments.
        """

    @abstractmethod
    async def list(self) -> Sequence[Env]:
        """Return all envs by name."""
