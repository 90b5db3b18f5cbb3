"""Tables on a terminal of 80 columns: ids are whole, and no line is cut or broken."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import AsyncIterator

import pytest_asyncio

from tests.support.far_cli import Place, place

COLUMNS = 80
NAME = "a-name-of-some-length-1"
KIND = "warehouse.orders.reserve_stock"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def full() -> AsyncIterator[Place]:
    """A store that has one of everything, with names as people give them."""
    async with place() as made:
        await made.engine.submit(KIND, id=f"{NAME}-submitted", lane="warehouse-nightly")
        await made.suspended(NAME)
        await made.failed(f"{NAME}-failed")
        await made.worker("worker.host-of-a-cluster.12345.f01m3e")
        await made.graph(f"{NAME}-graph")
        await made.schedule(f"{NAME}-schedule")
        await made.queue(f"{NAME}-queue")
        yield made


def _on_terminal(*args: str) -> str:
    """Run a command on a terminal; returns what it wrote there."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(
        [sys.executable, "-m", "holdfast.cli", *args],
        stdin=side,
        stdout=side,
        stderr=side,
        env={**environment, "TERM": "xterm"},
    ) as process:
        os.close(side)
        written = b""
        while part := _read(main):
            written += part
        os.close(main)
    assert process.returncode == 0, written
    return written.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:
        return b""  # The command has left the terminal.


async def _shown(store: Place, *args: str) -> str:
    text = await asyncio.to_thread(_on_terminal, *args, "--store", store.near)
    assert max(map(len, text.splitlines())) <= COLUMNS, text
    assert "…" not in text
    return text


async def test_ls_shows_whole_ids_and_kinds(full: Place) -> None:
    """Columns that do not fit go under their row."""
    shown = await _shown(full, "ls")
    words = shown.replace(",", " ").split()
    assert {f"{NAME}-submitted", NAME, f"{NAME}-failed", KIND} <= set(words)
    assert "suspended" in words
    assert "Broken: no way" in shown, "why it failed"
    assert "waits for an answer" in shown


async def test_other_lists_show_whole_ids(full: Place) -> None:
    """Graphs, schedules, queues, workers, waitpoints."""
    for noun, word in {
        "graphs": f"{NAME}-graph",
        "schedules": f"{NAME}-schedule",
        "queues": f"{NAME}-queue",
        "workers": "worker.host-of-a-cluster.12345.f01m3e",
        "waitpoints": f"{NAME}~w1",
        "lanes": "warehouse-nightly",
    }.items():
        assert word in (await _shown(full, noun)).split(), noun


async def test_top_counts_every_state_in_whole_words(full: Place) -> None:
    """What is suspended or waits for other members is there, too."""
    shown = await _shown(full, "top", "--once")
    words = {"suspended", "waiting_children", "waiting", "failed", "warehouse-nightly"}
    assert words <= set(shown.replace(",", " ").split())
    assert "worker.host-of-a-cluster.12345.f01m3e" in shown.split()


async def test_lanes_count_what_is_suspended(full: Place) -> None:
    """And what waits for other members of its graph."""
    shown = await _shown(full, "lanes")
    assert {"suspended", "waiting_children"} <= set(shown.replace(",", " ").split())
