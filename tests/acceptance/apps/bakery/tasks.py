"""What the bakery does in the background."""

from __future__ import annotations

import hashlib
import os
import signal
from pathlib import Path

from django.db import connection
from django.db.transaction import atomic
from django.utils import timezone

from holdfast import Context, SyncContext
from holdfast.integrations.django import app, submit, transaction
from tests.acceptance.apps.bakery.models import Order

_INSERT = (
    "insert into holdfast_effects (key, execution, step, result, created_at) "
    "values (%s, %s, %s, %s, %s)"
)


@app.task
def ship(name: str) -> str:
    """Ship an order."""
    return f"shipped {name}, one of {Order.objects.count()}"


@app.task
async def ship_async(name: str) -> str:
    """Ship an order, with the async interface of models."""
    return f"shipped {name}, one of {await Order.objects.acount()}"


def book(name: str) -> tuple[int, str]:
    """Write an order."""
    return Order.objects.create(name=name).pk, name


@app.task(retries=1)
async def sell_async(ctx: Context, name: str) -> tuple[int, str]:
    """Book once; the first attempt loses the record of its step."""
    if ctx.attempt == 0:
        vars(ctx)["record"] = _dies
    return await transaction(ctx, "book", book, name)


async def _dies(_name: str, _result: bytes) -> bytes:
    raise ConnectionError


@app.task
def sell(ctx: SyncContext, name: str) -> tuple[int, str]:
    """Book once."""
    return transaction(ctx, "book", book, name)


@app.task
def sell_late(ctx: SyncContext) -> str:
    """Book after another attempt has committed."""

    def late() -> str:
        key = hashlib.sha256(ctx.idempotency_key("book").encode()).hexdigest()
        other = connection.copy()
        with other.cursor() as cursor:
            row = [key, ctx.id, "book", b'"faster"', timezone.now()]
            cursor.execute(_INSERT, row)
        other.close()
        Order.objects.create(name="late")
        return "late"

    return transaction(ctx, "book", late)


@app.task
def sell_inside(ctx: SyncContext) -> None:
    """Book inside of another transaction, which is refused."""
    with atomic():
        transaction(ctx, "book", book, "inside")


@app.task
def deliver(ctx: SyncContext, name: str) -> str:
    """Book, then die once without warning."""
    transaction(ctx, "book", book, name)
    was_here = Path(os.environ["BAKERY_DATABASE"] + ".dead")
    if not was_here.exists():
        was_here.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return f"delivered, {Order.objects.count()} booked"


def order_and_die(name: str) -> None:
    """Submit in a transaction, and die as soon as it is committed."""
    with atomic():
        submit(deliver.options(id=f"deliver-{name}"), name)
    os.kill(os.getpid(), signal.SIGKILL)
