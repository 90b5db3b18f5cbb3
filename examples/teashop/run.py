"""Start the product: the shop, two bots, people who use them, the console and the chat.

Run it with `make run`; Ctrl-C ends it. Without a terminal it looks at itself, and ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import tempfile
import webbrowser
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import people
from teashop import app, print_label

HERE = Path(__file__).parent
PACKS = HERE.parent / "packs"
#: Where the pack `assistant` finds its model.
MODEL = "127.0.0.1:8099"
#: It takes about four seconds, and longer on a busy machine.
START_S = 120
#: How long it serves without a terminal.
SERVE_S = 5
ON_TERMINAL = sys.stdout.isatty()


class WentWrongError(Exception):
    """It did not run as expected."""


def say(text: str = "", *, bold: bool = False) -> None:
    """Print a line."""
    plain = not bold or not ON_TERMINAL or "NO_COLOR" in os.environ
    print(text if plain else f"\x1b[1m{text}\x1b[0m", flush=True)


def free_port(wanted: int) -> int:
    """Return a port if it is free, else another one."""
    for port in (wanted, 0):
        with socket.socket() as tried, contextlib.suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return int(tried.getsockname()[1])
    raise WentWrongError("no port is free")


@contextlib.asynccontextmanager
async def process(*command: str, log: Path) -> AsyncIterator[Process]:
    """Run a Python program while the block runs; then ask it to end, twice if it has work."""
    with log.open("wb") as output:
        # In a session of its own: Ctrl-C reaches only this program, which ends the others.
        running = await asyncio.create_subprocess_exec(
            *(sys.executable, *command),
            cwd=HERE,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            yield running
        finally:
            for patience_s in (2, None):
                with contextlib.suppress(ProcessLookupError, TimeoutError):
                    running.send_signal(signal.SIGTERM)
                    await asyncio.wait_for(running.wait(), patience_s)


@contextlib.asynccontextmanager
async def product(folder: Path) -> AsyncIterator[str]:
    """Run `holdfast dev` with the shop, both packs and a model; yield its URL."""
    # Nobody types the address without a terminal, and several may run at once.
    port = free_port(8080 if ON_TERMINAL else 0)
    url, log = f"http://127.0.0.1:{port}", folder / "dev.log"
    packs = [str(PACKS / name) for name in ("support", "assistant")]
    options = ["--listen", f"127.0.0.1:{port}", "--allow-private", MODEL]
    options += ["--store", f"embedded://{folder / 'store'}"]
    model = str(PACKS / "assistant" / "assets" / "model_server.py")
    async with (
        process(model, log=folder / "model.log"),
        process("-m", "holdfast.cli", "dev", "teashop:app", *packs, *options, log=log) as dev,
    ):
        # Its own word: another program may have taken the port in the meantime, and answer.
        while dev.returncode is None and f"{url}/console/" not in log.read_text():
            await asyncio.sleep(0.2)
        if dev.returncode is not None:
            raise WentWrongError(f"`holdfast dev` has ended: {log.read_text()}")
        yield url


async def answers(client: httpx.AsyncClient, path: str) -> bool:
    """Whether a page can be read."""
    try:
        return (await client.get(path)).is_success
    except httpx.TransportError:
        return False


def greet(url: str) -> None:
    """Print where to look."""
    say("\nHoldfast is running: a shop, two bots, and people who use them.\n", bold=True)
    say(f"  console    {url}/console/")
    say(f"  chat       {url}/chat/local/support")
    say(f"             {url}/chat/local/assistant")
    say(f"  HTTP API   {url}/docs")
    say(f"\nThe shop is {os.path.relpath(HERE / 'teashop.py')}. Save a change, and it runs.")


async def look(url: str) -> None:
    """Use everything once, and print what was seen."""
    async with httpx.AsyncClient(base_url=url) as client:
        for path in ("/readyz", "/console/"):
            if not await answers(client, path):
                raise WentWrongError(f"{path} cannot be read")
            say(f"  {path:<12}answers")
    parcel = await (await print_label.submit(1)).result()
    say(f"  execution   print_label(1) is completed: {parcel}")
    (reply, *_) = await people.talk("checker", "hello", "support")
    say(f"  chat turn   hello -> {reply}")


async def use(url: str) -> None:
    """Let people use the product until Ctrl-C, or for a while if nobody looks."""
    app.store = url
    async with app:
        await people.fill()
        await people.bots()
        greet(url)
        living = asyncio.ensure_future(people.live())
        try:
            if ON_TERMINAL:
                if sys.platform == "darwin" or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
                    webbrowser.open(f"{url}/console/")
                say("\nPress Ctrl-C to end it.")
                await living
            say("\nThere is no terminal, so it looks at itself:\n")
            await look(url)
            await asyncio.wait({living}, timeout=SERVE_S)
        finally:
            living.cancel()


async def main() -> None:
    """Run it in a folder that is gone afterwards."""
    this = asyncio.current_task()
    if this is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)
    with tempfile.TemporaryDirectory(prefix="holdfast-run-") as folder:
        async with contextlib.AsyncExitStack() as stack:
            async with asyncio.timeout(START_S):
                url = await stack.enter_async_context(product(Path(folder)))
            await use(url)


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except (KeyboardInterrupt, asyncio.CancelledError):
        say("")
    except (WentWrongError, TimeoutError) as problem:
        sys.exit(f"This did not go as expected: {problem or f'no start within {START_S} s'}")
    say("\nStopped; the store and its folder are gone.")
