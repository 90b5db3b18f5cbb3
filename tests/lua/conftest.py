"""What tests of functions share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from holdfast.store.store import Store
from tests.support.mailbox import Mailbox


@pytest.fixture
async def mailbox(store: Store) -> AsyncIterator[Mailbox]:
    box = Mailbox(store)
    await store.subscriptions.add(box.channels, box.on_message)
    yield box
    await store.subscriptions.remove(box.channels, box.on_message)
