"""`manage.py holdfast_worker` and a process that submits die by kill -9; work is done once."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from holdfast.engine import open_engine
from holdfast.testing import wait_for
from holdfast.testing.servers import TestServer
from tests.acceptance.processes import ROOT
from tests.support import commands

pytestmark = pytest.mark.timeout(180)

_ORDER = (
    "from django.core.management import call_command; "
    "from tests.acceptance.apps.bakery.tasks import order_and_die; "
    "call_command('migrate', run_syncdb=True, verbosity=0); order_and_die('bun')"
)


async def test_committed_work_survives_its_processes(
    single_server: TestServer, tmp_path: Path
) -> None:
    """The worker finds the submission, dies in the task, and the next one ends it."""
    store = f"valkey://127.0.0.1:{single_server.port}?prefix=bakery"
    environment = {
        **os.environ,
        "HOLDFAST_STORE": store,
        "BAKERY_DATABASE": str(tmp_path / "bakery.db"),
        "DJANGO_SETTINGS_MODULE": "tests.acceptance.apps.bakery.settings",
    }

    def manage(*args: str) -> commands.Command:
        with (tmp_path / "log").open("a") as log:
            return commands.start(
                args,
                folder=ROOT,
                environment=environment,
                stdout=log,
                stderr=log,
                module="tests.acceptance.apps.bakery.manage",
            )

    assert manage("shell", "-c", _ORDER).wait(60) == -signal.SIGKILL
    worker = ("holdfast_worker", "--lease", "2", "--slots", "5")
    assert manage(*worker).wait(60) == -signal.SIGKILL
    second = manage(*worker)
    async with open_engine(store) as engine:

        async def is_known() -> bool:
            return bool((await engine.list()).items)

        await wait_for(is_known, timeout_s=60)
        result = await engine.result("deliver-bun", timeout_s=60)
        assert result == b'"delivered, 1 booked"'
    second.terminate()
    assert second.wait(60) == 0
