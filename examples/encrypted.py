"""Payloads that the store cannot read: inputs, results and steps are sealed with your keys.

python examples/encrypted.py
"""

import asyncio
import os

from holdfast import App
from holdfast.errors import PayloadUnreadable
from holdfast.model.codec import AesGcm
from holdfast.store.store import StoreSettings

#: A real program gets 32 random bytes for each key from its key management.
codec = AesGcm({"2026": os.urandom(32)})
app = App(settings=StoreSettings(codec=codec))
without = App()


@app.task
async def greet(name: str) -> str:
    """Greet somebody whose name is nobody else's business."""
    return f"Hello {name}"


async def main() -> None:
    """Run a task; then look at its input as somebody without the keys does."""
    async with app.worker():
        handle = await greet.submit("Ada")
        print(await handle.result(timeout=60))
    async with without:
        try:
            await without.engine.input(handle.id)
        except PayloadUnreadable as unreadable:
            print(unreadable.message)


if __name__ == "__main__":
    asyncio.run(main())
