"""Doors: the web chats that a server opens to anyone.

Without a door nothing can be reached: a visitor can choose neither a tenant nor a revision.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.errors import WebChatNotFound
from holdfast.model import checks
from holdfast.model.names import DEFAULT_TENANT

#: As a name: every deployment and conversation of the tenant in the env.
EVERY = "*"
_SHORT, _FULL = 2, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """What visitors talk to: a deployment, or a conversation that workers publish."""

    env: str
    name: str
    tenant: str = DEFAULT_TENANT

    def __post_init__(self) -> None:
        checks.name("env", self.env)
        checks.name("tenant", self.tenant)
        if self.name != EVERY:
            checks.name("name", self.name)

    @classmethod
    def parse(cls, text: str) -> Door:
        """Parse ENV/DEPLOYMENT or ENV/TENANT/DEPLOYMENT; `*` means every deployment."""
        parts = text.split("/")
        if len(parts) == _SHORT:
            return cls(env=parts[0], name=parts[1])
        if len(parts) != _FULL:
            problem = "must be ENV/DEPLOYMENT or ENV/TENANT/DEPLOYMENT"
            checks.refuse("web-chat", problem, text)
        return cls(env=parts[0], tenant=parts[1], name=parts[2])


class Doors:
    """The doors of a server, by the address of their chat."""

    def __init__(self, doors: Iterable[Door]) -> None:
        self._doors = {(door.env, door.name): door for door in doors}

    def find(self, env: str, name: str) -> Door:
        """Return the door that an address leads to; raises WebChatNotFound."""
        door = self._doors.get((env, name))
        if door is not None and name != EVERY:
            return door
        every = self._doors.get((env, EVERY))
        if every is None or name == EVERY:
            raise WebChatNotFound("there is no web chat at this address", env=env, name=name)
        return Door(env=env, name=name, tenant=every.tenant)
