"""A support bot: a menu, an order, a refund that a person approves, days of waiting.

python examples/support_bot.py
"""

import asyncio

from holdfast import App, Chat, Denied, WaitTimedOut, WorkerSettings
from holdfast.model.waitpoints import NewSignal

app = App()

ORDERS = {17: ("a teapot", "sent", 1250), 18: ("two cups", "packed", 800)}
MENU = {"status": "Order status", "refund": "A refund", "person": "Talk to a person"}


def find_order(number: int) -> tuple[str, str, int] | None:
    """Look an order up; a real one asks a database."""
    return ORDERS.get(number)


def refund(number: int, cents: int) -> str:
    """Give the money back; a real one calls a bank, with `ctx.idempotency_key`."""
    return f"R-{number}-{cents}"


@app.conversation(apology="Sorry, something broke. Write again to start over.")
async def support(chat: Chat) -> None:
    """Help a customer. Every line survives a crash, and a wait of days costs nothing."""
    await chat.say("Hello. I am the shop's bot.")
    while True:
        wanted = await chat.choose("What can I do for you?", MENU, timeout="7d")
        if wanted == "person":
            await chat.say("I am calling a person.")
            await chat.handover("service", reason="the customer asked for a person")
            await chat.say("I am back.")
            continue
        number = (await chat.ask("Which order?", type=int, timeout="2d")).value
        order = await chat.step(chat.number("look up"), find_order, number)
        if order is None:
            await chat.say(f"There is no order {number}.")
            continue
        what, state, cents = order
        await chat.say(f"Order {number}, {what}, is {state}.")
        if wanted == "refund":
            await give_back(chat, number, cents)
        if await chat.choose("Anything else?", ["yes", "no"], timeout="1d") == "no":
            break
    await chat.say("Goodbye.")


async def give_back(chat: Chat, number: int, cents: int) -> None:
    """Refund an order after a person has approved it, which may take days."""
    await chat.say("I am asking a colleague. This may take a while.")
    try:
        await chat.approval(f"Refund {cents} cents?", approvers=["lead"], timeout="3d")
    except Denied:
        await chat.say("My colleague said no.")
    except WaitTimedOut:
        await chat.say("Nobody had time to decide. Please ask again.")
    else:
        receipt = await chat.step(chat.number("refund"), refund, number, cents)
        await chat.say(f"Done. Your receipt is {receipt}.")


async def approve() -> None:
    """Approve the refund, as the lead does with the link of their own."""
    (session,) = (await app.engine.sessions.list(user="ann")).items
    (point,) = await app.engine.waitpoints.of(session.execution or "")
    token = await app.engine.waitpoints.token(point.id, reader="example", person="lead")
    answer = NewSignal(waitpoint=point.id, name="approve")
    await app.engine.waitpoints.signal(answer, token.reveal())
    async for news in app.engine.sessions.follow(session.id, after=session.last):
        for entry in news.entries:
            print(f"bot: {entry.text}")
        if news.session.state == "waiting":
            return


async def main() -> None:
    """Talk with the bot as a customer, and answer as her colleague."""
    async with app.worker(WorkerSettings(lease_ms=5_000)):
        for text in ("hello", "a refund", "seventeen", "17", "no"):
            if text == "no":
                await approve()
            print(f"ann: {text}")
            for reply in (await support.send(text, user="ann")).replies:
                print(f"bot: {reply.text}")


if __name__ == "__main__":
    asyncio.run(main())
