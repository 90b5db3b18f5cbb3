"""The people of the shop: customers who order, visitors who chat, staff who approve.

They are far from the store and use HTTP, as people and other programs do.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random

from teashop import (
    app,
    charge,
    count_stock,
    describe,
    fulfil,
    open_branch,
    refund,
    render_film,
    renew,
    report,
)

from holdfast import HoldfastError
from holdfast.errors import NotFound
from holdfast.model.activities import NewActivity
from holdfast.model.deployments import DeploymentRef, SplitEntry
from holdfast.model.revisions import Lifecycle
from holdfast.model.waitpoints import NewSignal, Source

CITIES = ["Berlin", "Lisbon", "Oslo", "Turin"]
PRODUCTS = ["teapot", "kettle", "tea cup", "tea tray"]
SUPPORT = DeploymentRef(env="local", id="support", tenant="default")
#: What visitors say to the pack `support`, one conversation each.
TALKS = {
    "ann": ["hello", "order", "A17"],
    "ben": ["hi", "refund", "A17", "the lid is broken"],
    "cid": ["good morning"],
    "dora": ["hey", "refund", "B4", "too small"],
}
QUESTIONS = ["Where is order A17?", "Are you open on Sunday?", "And order B4?"]


async def fill() -> None:
    """Let there be something of everything when the console opens."""
    engine = app.engine
    await engine.secrets.set("MODEL_KEY", "any-key")
    limits = {"tokens": {"hard": 12_000, "soft": 3_000}, "cents": {"hard": 500}}
    await engine.budgets.create("texts", tenant="acme", limits=limits)
    await engine.queues.define("returns", dead_letter="returns-dead", max_attempts=1)
    await engine.queues.push("returns", b'{"order": 7, "damaged": false}')
    for broken in (b'{"order": "seven"}', b'{"order": 8}', b'{"order": 9}'):
        await engine.queues.push("returns", broken)
    await renew.options(id="renew-ann").submit("ann")
    await render_film.options(id="film-1").submit("teapot")
    await open_branch.options(id="branch-oslo").submit("Oslo")
    await count_stock.options(id="count-1").submit(600)
    for number, product in enumerate(PRODUCTS):
        await describe.options(tenant="acme", tags={"product": product}).submit(product)
        await refund.options(id=f"refund-{number + 1}").submit(30 + number, 1250 * (number + 1))
    for order in range(1, 28):
        await charge.options(tags={"region": "eu" if order % 2 else "us"}).submit(order, 990)
    await report(CITIES)
    await report(CITIES[:2])


async def bots() -> None:
    """Wait until both bots answer."""
    for name in ("support", "assistant"):
        deployed = False
        while not deployed:
            with contextlib.suppress(NotFound):
                ref = DeploymentRef(env="local", id=name, tenant="default")
                deployed = bool((await app.engine.deployments.get(ref)).split.entries)
            await asyncio.sleep(0.2)


async def live() -> None:
    """Order, chat and approve until cancelled."""
    async with asyncio.TaskGroup() as group:
        for life in (_customers(), _visitors(), _staff()):
            group.create_task(life)


async def _customers() -> None:
    """Order something every other second."""
    for order in itertools.count(1001):
        # The app reloads when its file is saved; an order meanwhile may be refused.
        with contextlib.suppress(HoldfastError):
            await fulfil.options(id=f"order-{order}").submit(order, random.randrange(900, 9_000))
            if order % 10 == 0:
                await report(random.sample(CITIES, 3))
        await asyncio.sleep(random.uniform(1, 3))


async def _visitors() -> None:
    """Talk with both bots; after a while, a tenth of the visitors gets another revision."""
    for user, texts in TALKS.items():
        for text in texts:
            await talk(user, text, "support")
    await _try_out()
    for number, question in enumerate(itertools.cycle(QUESTIONS)):
        with contextlib.suppress(HoldfastError):
            await talk(f"guest-{number // 3}", question, "assistant")
            await talk(f"visitor-{number}", "hello", "support")
        await asyncio.sleep(5)


async def talk(user: str, text: str, deployment: str) -> list[str]:
    """Say something to a bot, and return what it answers."""
    said = json.dumps({"text": text}).encode()
    message = NewActivity(conversation=user, user=user, payload=said)
    turn = await app.engine.activities.handle(message, deployment=deployment, wait_ms=20_000)
    return [reply.text for reply in turn.replies]


async def _try_out() -> None:
    """Put another revision of the bot next to the one that serves."""
    deployments = app.engine.deployments
    serving = (await deployments.get(SUPPORT)).revisions[-1]
    staged, _ = await deployments.stage(SUPPORT, digest=serving.digest, config={"menu": "short"})
    await deployments.warm(SUPPORT, staged.id)
    while (found := await deployments.get(SUPPORT)).revisions[-1].lifecycle is not Lifecycle.READY:
        await asyncio.sleep(0.5)
    shares = [
        SplitEntry(revision=serving.id, weight_bps=9_000),
        SplitEntry(revision=staged.id, weight_bps=1_000),
    ]
    await deployments.set_split(SUPPORT, shares, expected_generation=found.split.generation)


async def _staff() -> None:
    """Decide about the oldest refund now and then; the others wait for you."""
    payload = json.dumps({"approved": True, "reason": "goodwill"}).encode()
    for person in itertools.cycle(["lea", "max"]):
        with contextlib.suppress(HoldfastError):
            inbox = await app.engine.waitpoints.inbox("default")
            oldest = next(one.waitpoint for one in inbox.items if one.kind == "refund")
            source = Source(type="user", identity=person)
            answer = NewSignal(waitpoint=oldest.id, name="answer", payload=payload, source=source)
            await app.engine.waitpoints.signal(answer)
            await refund.submit(random.randrange(100), random.randrange(500, 5_000))
        await asyncio.sleep(20)
