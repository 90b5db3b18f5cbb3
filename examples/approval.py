"""A task that waits for two people. While it waits it holds no worker, and it survives restarts.

python examples/approval.py
"""

import asyncio

from holdfast import App, Context, Denied
from holdfast.model.waitpoints import NewSignal, Source

app = App()
asked: asyncio.Queue[tuple[str, str]] = asyncio.Queue()


async def send_mail(waitpoint: str, token: str) -> None:
    """Send the question to the people who may answer."""
    await asked.put((waitpoint, token))


@app.task
async def refund(ctx: Context, cents: int) -> str:
    """Refund an order after two people have approved it."""
    question = await ctx.waitpoint("refund", title=f"Refund {cents} cents?")
    await ctx.step("ask", send_mail, question.id, question.token.reveal())
    try:
        await ctx.wait_for(question, approvers=2, timeout=7 * 86_400)
    except Denied as denied:
        return f"denied by {denied.source.identity}"
    return f"refunded {cents} cents"


async def main() -> None:
    """Submit a refund, and answer twice as Ann and once as Ben."""
    async with app.worker():
        handle = await refund.submit(1250)
        waitpoint, token = await asked.get()
        for who in ("ann", "ann", "ben"):
            approval = NewSignal(
                waitpoint=waitpoint,
                name="approve",
                source=Source(type="user", identity=who),
            )
            effect = await app.engine.waitpoints.signal(approval, token)
            print(f"{who} approves: {effect}")
        print(await handle.result())


if __name__ == "__main__":
    asyncio.run(main())
