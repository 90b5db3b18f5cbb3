"""A FastAPI application: answers as server-sent events, and a receiver of signed webhooks.

python examples/web_api.py (needs the extra fastapi); serve it with `uvicorn web_api:api`
"""

import os
from typing import Annotated

from fastapi import Depends, FastAPI, Request, Response
from fastapi.testclient import TestClient

from holdfast import App, Context
from holdfast.integrations.fastapi import WebhookMessage, follow, lifespan, webhook

app = App()
api = FastAPI(lifespan=lifespan(app))
#: A real program takes what `holdfast webhooks secret` prints.
SECRET = os.environ.get("WEBHOOK_SECRET", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")


@app.task
async def answer(ctx: Context, question: str) -> None:
    """Answer word by word; a real one asks a model."""
    for word in f"You asked: {question}".split():
        await ctx.stream.text(f"{word} ")


@api.get("/answers/{number}")
async def answers(request: Request, number: int, question: str) -> Response:
    """Stream an answer. A browser that comes back gets the rest of it."""
    handle = await answer.options(id=f"answer-{number}").submit(question)
    return await follow(request, handle.id)


@api.post("/holdfast")
async def ended(message: Annotated[WebhookMessage, Depends(webhook(SECRET))]) -> str:
    """Receive the message that an execution has ended; without a valid signature, 401."""
    return message.type


def main() -> None:
    """Call both routes as a browser and a stranger do."""
    with TestClient(api) as client:
        events = client.get("/answers/1", params={"question": "why?"}).text
        print("events:", [line[7:] for line in events.splitlines() if line.startswith("event: ")])
        print("a message without a signature:", client.post("/holdfast", json={}).status_code)


if __name__ == "__main__":
    main()
