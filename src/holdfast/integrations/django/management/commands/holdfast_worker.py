"""`manage.py holdfast_worker`."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

import uvloop
from django.core.management.base import BaseCommand, CommandError

from holdfast import garbage
from holdfast.errors import HoldfastError
from holdfast.integrations.django.project import app
from holdfast.worker.durations import to_ms
from holdfast.worker.opening import opened
from holdfast.worker.worker import Worker, WorkerSettings, stop_on_signals


class Command(BaseCommand):
    """Runs a worker."""

    help = (
        "Run the tasks of this project, and submit what is in its outbox. "
        "SIGTERM or Ctrl-C drains; a second one stops at once."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the options of `holdfast worker`."""
        default = WorkerSettings()
        add = parser.add_argument
        add("--name", default=default.name, help="The name of the worker's pool.")
        add("--slots", type=int, default=default.slots, help="Maximum executions to run at once.")
        add("--threads", type=int, default=default.threads, help="Threads for `def` tasks.")
        add("--lane", action="append", default=[], help="A lane to claim from; repeatable.")
        add("--capability", action="append", default=[], help="A capability; repeatable.")
        lease = "How soon the store notices that a worker has died, in seconds."
        add("--lease", type=float, default=default.lease_ms / 1000, metavar="S", help=lease)

    def handle(self, **options: Any) -> None:
        """Work until a signal stops the worker."""
        try:
            settings = WorkerSettings(
                name=options["name"],
                slots=options["slots"],
                threads=options["threads"],
                lanes=tuple(options["lane"]),
                capabilities=tuple(options["capability"]),
                lease_ms=to_ms("lease", options["lease"]),
            )
            garbage.search_rarely(settings.slots * garbage.OBJECTS_OF_SLOT)
            uvloop.run(self._work(settings))
        except HoldfastError as error:
            raise CommandError(f"{error.code}: {error}") from error

    async def _work(self, settings: WorkerSettings) -> None:
        async with opened(app):
            worker = Worker(app, settings)
            tasks = ", ".join(sorted(app.tasks)) or "none"
            self.stdout.write(f"worker {worker.instance} runs: {tasks}")
            self.stdout.flush()
            with stop_on_signals(worker):
                await worker.run()
