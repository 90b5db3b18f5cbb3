"""The mailbox of a process, for tests of what the store tells."""

from __future__ import annotations

from holdfast.model.ids import new_id
from holdfast.store import channels
from holdfast.store.store import Store
from holdfast.testing.polling import wait_for


class Mailbox:
    """What a process was told, on all partitions."""

    def __init__(self, store: Store) -> None:
        self.process = new_id()
        self.told: list[str] = []
        self.store = store
        self.channels = [channels.mailbox(tag, self.process) for tag in store.tags()]

    def on_message(self, _channel: str, message: str) -> None:
        """Take a message."""
        self.told.append(message)

    async def wait(self, count: int = 1) -> list[str]:
        """Wait for so many messages."""

        async def enough() -> bool:
            return len(self.told) >= count

        await wait_for(enough)
        return self.told
