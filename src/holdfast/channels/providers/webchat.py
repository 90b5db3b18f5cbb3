"""The web chat: its page talks to the server itself, so there are no webhooks and nothing to send.

An endpoint of it opens a chat, without an option of the servers.
"""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from holdfast.channels.provider import Call, Channel, Provider, Received, Request, Settings
from holdfast.errors import InvalidInput, InvalidSignature
from holdfast.model.files import FileLimits
from holdfast.model.origins import check_origins
from holdfast.model.sessions import OutgoingReply


class WebChatSettings(Settings):
    """Who may show the chat, and what visitors may send."""

    #: The origins whose pages may show the chat in a frame.
    origins: tuple[str, ...] = ()
    #: The most bytes of a file; 0: visitors cannot send files.
    file_bytes: int = 0
    #: The types of files, such as image/*; none: all that the web chat knows.
    file_types: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        try:
            check_origins("origins", self.origins)
            self.files()
        except InvalidInput as error:
            raise ValueError(error.message) from None

    def files(self) -> FileLimits:
        """Return the limits of files."""
        return FileLimits(most_bytes=self.file_bytes, types=self.file_types)


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


PROVIDER = WebChat()
