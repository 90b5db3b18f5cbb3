"""A conversation that a person takes over and gives back; the user notices no seam.

python examples/handover.py
"""

import asyncio

from holdfast import App, Chat

app = App()
handed = asyncio.Event()


@app.conversation
async def complaints(chat: Chat) -> None:
    """Listen, and let a colleague answer if it takes a person."""
    problem = await chat.ask("Hello! What is wrong?")
    await chat.say("Let me hand you over to Ann.")
    await chat.step("call", handed.set)
    written = await chat.handover("ann", reason=problem.text, timeout="1d")
    await chat.say(f"I am back. You wrote {len(written)} messages to Ann.")


async def say(text: str) -> str:
    """Send a message of the user; return the id of the session."""
    print(f"cyd: {text}")
    answer = await complaints.send(text, user="cyd")
    for reply in answer.replies:
        print(f"bot: {reply.text}")
    return answer.session


async def main() -> None:
    """Be the user and, in between, Ann."""
    sessions = app.engine.sessions
    await say("hi")
    session = await say("my teapot leaks")
    await handed.wait()
    await say("It leaks a lot.")
    said = await sessions.say(session, b'{"text": "I am sending a new one."}', author="ann")
    print(f"ann: {said.text}")
    await sessions.handover(session, None)
    async for news in sessions.follow(session, after=said.number):
        for entry in news.entries:
            if entry.direction == "out":
                print(f"bot: {entry.text}")
                return


async def talk() -> None:
    """Run a worker for the conversation."""
    async with app.worker():
        await main()


if __name__ == "__main__":
    asyncio.run(talk())
