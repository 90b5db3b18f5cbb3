"""A project of Django: submissions and effects in its transactions, the admin, settings."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections
from django.db import transaction as transactions
from django.test import Client, override_settings

from holdfast.errors import ExecutionFailed, IdConflict, InvalidInput
from holdfast.integrations.django import (
    Relay,
    app,
    conf,
    console_link,
    console_url,
    relay,
    submit,
    submit_on_commit,
)
from holdfast.integrations.django.models import Effect, OutboxEntry
from holdfast.integrations.django.submitting import connection
from holdfast.testing import wait_for
from tests.acceptance.apps.bakery import tasks
from tests.acceptance.apps.bakery.models import Order
from tests.acceptance.apps.bakery.settings import database as settings_of
from tests.support import postgres

R = TypeVar("R")


async def in_thread(work: Callable[[], R]) -> R:
    """Use the database; Django refuses that on an event loop."""
    return await sync_to_async(work)()


def use(address: str) -> None:
    """Make this database the one of the project, with empty tables."""
    connections.close_all()
    chosen = connections.configure_settings({"default": settings_of(address)})
    connections.settings["default"].clear()
    connections.settings["default"].update(chosen["default"])
    with contextlib.suppress(AttributeError):
        del connections["default"]
    call_command("migrate", run_syncdb=True, verbosity=0)
    for model in (Order, OutboxEntry, Effect):
        model.objects.all().delete()


def counts() -> tuple[int, int, int]:
    """Count orders, entries of the outbox and effects."""
    return Order.objects.count(), OutboxEntry.objects.count(), Effect.objects.count()


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    """A server, if this machine has one."""
    programs = postgres.folder()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed on this machine")
    with postgres.start(programs) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request: pytest.FixtureRequest, tmp_path: Path, url: str) -> AsyncIterator[str]:
    """A project with an empty database and an empty store."""
    is_file = request.param == "sqlite"
    address = f"{tmp_path}/bakery.db" if is_file else request.getfixturevalue("postgres_url")
    app.store = url
    # Other threads, without connections to the database of the test before.
    app.services[:] = [Relay(app)]
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
    with override_settings(HOLDFAST={**settings.HOLDFAST, "STORE": url}):
        await in_thread(lambda: use(address))
        yield request.param
        await in_thread(connections.close_all)
        connection.close()


async def relayed() -> None:
    """Wait until the outbox is empty."""

    async def is_empty() -> bool:
        waiting: int = await in_thread(OutboxEntry.objects.count)
        return waiting == 0

    await wait_for(is_empty)


async def test_a_submission_is_committed_with_the_order(database: str) -> None:
    """What was rolled back is not submitted; ids are known before the commit."""

    def lose() -> None:
        with transactions.atomic():
            Order.objects.create(name="lost")
            submit(tasks.ship, "lost")
            submit_on_commit(tasks.ship, "lost")
            transactions.set_rollback(True)

    def order() -> list[str]:
        with transactions.atomic():
            Order.objects.create(name="a")
            ids = [
                submit(tasks.ship, "a"),
                submit(tasks.ship_async, name="b"),
                submit(tasks.ship.options(id="c", tenant="acme"), "c"),
                submit_on_commit(tasks.ship.options(idempotency_key="d"), "d"),
            ]
            assert counts() == (1, 3, 0)
        return ids

    await in_thread(lose)
    assert await in_thread(counts) == (0, 0, 0)
    ids = await in_thread(order)
    async with app:
        assert (await app.engine.describe(ids[3])).state == "waiting"
        # A submission of the running worker's own thread uses another connection.
        again = await in_thread(lambda: submit_on_commit(tasks.ship.options(delay=60), "e"))
        assert (await app.engine.describe(again)).state == "delayed"
    async with app.worker():
        await relayed()
        for id, name in zip(ids, "abcd", strict=True):
            assert await tasks.ship.handle(id).result(timeout=30) == f"shipped {name}, one of 1"
        assert sum(each.count for each in await app.engine.count()) == 5
    assert await in_thread(counts) == (1, 0, 0)


async def test_an_entry_that_is_refused_stays_and_lets_others_pass(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The admin shows why, and lets it be tried again; refusals on commit are raised."""
    caplog.set_level(logging.CRITICAL)

    def order() -> None:
        submit(tasks.ship.options(id="one"), "y")
        OutboxEntry.objects.create(id="broken", execution=b"{")
        submit(tasks.ship.options(delay=60), "z")

    async with app:
        await tasks.ship.options(id="one", delay=60).submit("x")
        await in_thread(order)
        async with relay(app) as outbox:
            await outbox.flush()
        refused = await in_thread(lambda: dict(OutboxEntry.objects.values_list("id", "refused")))
        assert sorted(why.partition(":")[0] for why in refused.values()) == [
            "id_conflict",
            "invalid_input",
        ]
        await in_thread(lambda: _look_at_the_admin("one"))
        assert await in_thread(lambda: OutboxEntry.objects.filter(refused=None).count()) == 2
    with pytest.raises(IdConflict):
        await in_thread(lambda: submit_on_commit(tasks.ship.options(id="one"), "w"))


def _look_at_the_admin(id: str) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser(f"ada{User.objects.count()}"))
    Order.objects.create(name="a", execution_id="x y")
    page = client.get("/admin/bakery/order/").content.decode()
    assert '<a href="https://holdfast.example/console/runs/x%20y">x y</a>' in page
    page = client.get("/admin/holdfast/outboxentry/").content.decode()
    assert f'<a href="https://holdfast.example/console/runs/{id}">{id}</a>' in page
    assert "id_conflict" in page
    assert client.get("/admin/holdfast/outboxentry/add/").status_code == 403
    assert client.get("/admin/holdfast/outboxentry/broken/change/").status_code == 200
    chosen = list(OutboxEntry.objects.values_list("pk", flat=True))
    asked = {"action": "try_again", "_selected_action": chosen}
    assert client.post("/admin/holdfast/outboxentry/", asked).status_code == 302


async def test_a_worker_outlasts_its_database(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A missing table is an error of the database, which is logged and may pass."""

    def drop() -> None:
        call_command("migrate", "holdfast", "zero", verbosity=0)

    def create() -> str:
        call_command("migrate", "holdfast", verbosity=0)
        return submit(tasks.ship, "a")

    async def is_logged() -> bool:
        return "the database of the outbox failed" in caplog.text

    await in_thread(drop)
    with caplog.at_level(logging.WARNING):
        async with app.worker():
            await wait_for(is_logged)
            id = await in_thread(create)
            await relayed()
            assert await tasks.ship.handle(id).result(timeout=30) == "shipped a, one of 0"


async def test_an_effect_and_its_step_are_one(database: str) -> None:
    """A result comes back as it was; an error leaves nothing; a row stands for its effect."""
    async with app.worker():
        assert (await (await tasks.sell.submit("a")).result(timeout=30))[1] == "a"
        with pytest.raises(ExecutionFailed, match=r"(?i)unique"):
            await (await tasks.sell.submit("a")).result(timeout=30)
        assert await in_thread(counts) == (1, 0, 1)
        assert (await (await tasks.sell_async.submit("b")).result(timeout=30))[1] == "b"
        assert await in_thread(counts) == (2, 0, 2)
        if database == "postgresql":  # two transactions at the same time
            assert await (await tasks.sell_late.submit()).result(timeout=30) == "faster"
            assert await in_thread(counts) == (2, 0, 3)
        with pytest.raises(ExecutionFailed, match="a transaction is open"):
            await (await tasks.sell_inside.submit()).result(timeout=30)
        assert (await in_thread(counts))[0] == 2


def test_settings_are_checked() -> None:
    """A name that the setting does not have is an error; without a console there are no links."""
    for wrong in ({"STOER": "x"}, "valkey://"):
        with override_settings(HOLDFAST=wrong), pytest.raises(ImproperlyConfigured):
            conf.read()
    with override_settings(HOLDFAST={}):
        assert conf.read() == conf.Conf()
        assert console_url("x") is None
        assert console_link("name")(Order(name="<b>")) == "<b>"
    assert console_url("") is None


def test_models_and_migrations_agree(tmp_path: Path) -> None:
    """Nobody forgot a migration."""
    use(f"{tmp_path}/bakery.db")
    call_command("makemigrations", "holdfast", check=True, dry_run=True, verbosity=0)


def test_windows_have_no_outbox() -> None:
    """Debounce and throttle choose among submissions; an outbox must not."""
    for way in (submit, submit_on_commit):
        with pytest.raises(InvalidInput, match="debounce"):
            way(tasks.ship.options(debounce=("k", 1)), "x")


def test_the_command_refuses_wrong_options() -> None:
    """With the sentence and the code of the error."""
    with pytest.raises(CommandError, match="invalid_input: slots"):
        call_command("holdfast_worker", slots=0, stdout=io.StringIO())
