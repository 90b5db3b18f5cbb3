"""Doors: the web chats that are open to anyone.

Two things open one: an option of the server, and an endpoint of the provider `webchat`. Without a
door nothing can be reached: a visitor can choose neither a tenant nor a revision.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from holdfast.channels.webchat import WebChatSettings
from holdfast.engine.opened_endpoints import OpenedEndpoints
from holdfast.errors import (
    EndpointNotFound,
    InvalidInput,
    SecretNotFound,
    SecretUnreadable,
    WebChatNotFound,
)
from holdfast.model import checks
from holdfast.model.endpoints import Endpoint
from holdfast.model.files import NO_FILES, FileLimits
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
    #: Of an endpoint: what answers, if it is not called as the endpoint is.
    deployment: str | None = None
    conversation: str | None = None
    #: The origins whose pages may show the chat in a frame.
    origins: tuple[str, ...] = ()
    #: The files that visitors may send.
    files: FileLimits = NO_FILES
    #: The most messages per second of all visitors; None: no limit beside that of each address.
    rate: int | None = None

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

    @classmethod
    def of(cls, endpoint: Endpoint, settings: WebChatSettings) -> Door:
        """Return the door that an endpoint opens."""
        return cls(
            env=endpoint.env,
            name=endpoint.id,
            tenant=endpoint.tenant,
            deployment=endpoint.deployment,
            conversation=endpoint.conversation,
            origins=settings.origins,
            files=settings.limits(),
            rate=endpoint.rate,
        )


class Doors:
    """The doors of a server, by the address of their chat."""

    def __init__(
        self,
        doors: Iterable[Door],
        endpoints: OpenedEndpoints,
        *,
        origins: tuple[str, ...] = (),
        files: FileLimits = NO_FILES,
    ) -> None:
        named = [replace(door, origins=origins, files=files) for door in doors]
        self._doors = {(door.env, door.name): door for door in named}
        self._endpoints = endpoints

    async def find(self, env: str, name: str) -> Door:
        """Return the door that an address leads to; raises WebChatNotFound.

        One that the server names comes first, then that of an endpoint, then all of a tenant.
        """
        door = self._doors.get((env, name))
        if door is not None and name != EVERY:
            return door
        found = await self._opened(env, name)
        every = self._doors.get((env, EVERY))
        if found is not None:
            return found
        if every is None or name == EVERY:
            raise WebChatNotFound("there is no web chat at this address", env=env, name=name)
        return replace(every, name=name)

    async def _opened(self, env: str, name: str) -> Door | None:
        try:
            found = await self._endpoints.get(env, name)
        except (EndpointNotFound, InvalidInput, SecretNotFound, SecretUnreadable):
            # None of its own: a web chat has no secrets.
            return None
        settings = found.channel.settings
        is_chat = isinstance(settings, WebChatSettings)
        return Door.of(found.endpoint, settings) if is_chat else None
