"""Temporal's development server on SQLite: one workflow with one activity for each task."""

import asyncio
import sys
from datetime import timedelta
from uuid import uuid4

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    import ledger


@activity.defn
async def record(text: str) -> None:
    """Do nothing."""
    ledger.record()


@workflow.defn
class Nothing:
    """Calls an activity."""

    @workflow.run
    async def run(self, text: str) -> None:
        """Call it."""
        await workflow.execute_activity(record, text, start_to_close_timeout=timedelta(minutes=1))


async def submit(client: Client, count: int) -> None:
    """Start workflows, with a hundred calls under way."""

    async def start() -> None:
        await client.start_workflow(
            Nothing.run, ledger.PAYLOAD, id=str(uuid4()), task_queue="bench"
        )

    with ledger.timing():
        for _ in range(0, count, 100):
            await asyncio.gather(*(start() for _ in range(100)))


async def main() -> None:
    """Submit, or work."""
    client = await Client.connect(ledger.URL)
    if sys.argv[1] == "worker":
        await Worker(client, task_queue="bench", workflows=[Nothing], activities=[record]).run()
    else:
        await submit(client, int(sys.argv[1]))


if __name__ == "__main__":
    asyncio.run(main())
