"""A bakery whose process dies after each commit, and around each submission."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

import django
from django.core.management import call_command
from django.db import connections, transaction
from typing_extensions import override

from holdfast import Context
from holdfast.errors import HoldfastError
from holdfast.model.executions import NewExecution
from tests.acceptance.apps.mortal import happens

os.environ.setdefault("BAKERY_DATABASE", f"{sys.argv[2]}.bakery.db")
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.acceptance.apps.bakery.settings"
django.setup()

# Models, and what needs them, can be imported only now.
from holdfast.integrations import django as ours  # noqa: E402
from tests.acceptance.apps.bakery.models import Order  # noqa: E402
from tests.acceptance.apps.bakery.tasks import ship_async  # noqa: E402

app = ours.app
call_command("migrate", run_syncdb=True, verbosity=0)
# Processes that are forked from this one must not share a connection.
connections.close_all()


class MortalRelay(ours.Relay):
    """Dies before the submission, and between it and the removal from the outbox."""

    @override
    async def _submit(self, items: Sequence[NewExecution]) -> list[HoldfastError | None]:
        happens("relay")
        return await super()._submit(items)

    @override
    async def _settle(self, accepted: Sequence[str], refused: Mapping[str, str]) -> None:
        happens("remove")
        await super()._settle(accepted, refused)


def book() -> str:
    """Write an order, and the submission of its shipment, which is not due yet."""
    Order.objects.create(name="a")
    transaction.on_commit(lambda: happens("commit"))
    return ours.submit(ship_async.options(delay=3_600), "a")


# The relay of the worker would submit at a time of its own.
app.services.clear()


@app.task(name="django")
async def work(ctx: Context) -> str:
    """Book once, and submit the shipment."""
    shipment = await ours.transaction(ctx, "book", book)
    await MortalRelay(app).flush()
    assert (await app.engine.describe(shipment)).kind == "ship_async"
    shipments = [each.count for each in await app.engine.count() if each.kind == "ship_async"]
    return f"booked {await Order.objects.acount()}, shipped {sum(shipments)}"
