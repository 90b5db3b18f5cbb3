"""The web chat: its page talks to the server itself, so there are no webhooks and nothing to send.

An endpoint of it opens a chat, without an option of the servers.
"""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from holdfast.channels.exchange import Call, Request
from holdfast.channels.provider import Channel, Provider, Received, Settings
from holdfast.errors import InvalidInput, InvalidSignature
from holdfast.model.files import NO_FILES, FileLimits
from holdfast.model.origins import check_origins
from holdfast.model.sessions import OutgoingReply


class FileSettings(Settings):
    """The files that visitors may send."""

    #: The most bytes of a file.
    bytes: int
    #: Such as image/*; none: all types that the web chat knows.
    types: tuple[str, ...] = ()


class WebChatSettings(Settings):
    """Who may show the chat, and what visitors may send."""

    #: The origins whose pages may show the chat in a frame.
    origins: tuple[str, ...] = ()
    #: Without them, visitors cannot send files.
    files: FileSettings | None = None

    def __post_init__(self) -> None:
        try:
            check_origins("origins", self.origins)
            self.limits()
        except InvalidInput as error:
            raise ValueError(error.message) from None

    def limits(self) -> FileLimits:
        """Return the limits of files."""
        if self.files is None:
            return NO_FILES
        return FileLimits(most_bytes=self.files.bytes, types=self.files.types)


class WebChat(Provider):
    """The web chat."""

    name = "webchat"
    about = "the web chat, at /chat/ENV/ID"
    settings = WebChatSettings
    required = frozenset()

    @override
    def verify(self, channel: Channel, request: Request) -> None:
        raise InvalidSignature("a web chat has no webhooks: visitors use its page")

    @override
    def parse(self, channel: Channel, request: Request) -> Received:
        raise InvalidInput("a web chat has no webhooks: visitors use its page")

    @override
    def render(self, channel: Channel, reply: OutgoingReply) -> Sequence[Call]:
        # The page reads the transcript.
        return []


PROVIDER: Provider = WebChat()
