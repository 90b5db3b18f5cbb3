"""Signatures and sample inputs from what workers publish."""

from __future__ import annotations

import shlex
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from holdfast import App, Chat
from holdfast.cli.tasks import sample, signature, submit_line

app = App("embedded://nowhere")


class Item(BaseModel):
    """Something to buy."""

    name: str
    count: int = 1


class Node(BaseModel):
    """A type that contains itself."""

    value: float
    next: Node | None
    above: Node


@app.task
def simple(name: str, times: int = 1, *, loud: bool = False) -> str:
    """Take plain values."""
    return f"{name}{times}{loud}"


@app.task
def rich(item: Item, kind: Literal["a", "b"], sizes: list[int], n: str | None = None) -> Item:
    """Take models."""
    del kind, sizes, n
    return item


@app.task
def nothing() -> None:
    """Take nothing."""


@app.task
def raw(data: bytes) -> bytes:
    """Take bytes."""
    return data


@app.task
def nested(node: Node) -> Any:
    """Take what has no end."""
    return node


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("simple", "simple(name: string, times: integer = 1, loud: boolean = false) -> string"),
        ("nothing", "nothing() -> null"),
        ("raw", "raw(bytes) -> bytes"),
        ("nested", "nested(node: Node) -> any"),
        (
            "rich",
            'rich(item: Item, kind: "a" | "b", sizes: integer[], n: string | null = null) -> Item',
        ),
    ],
)
def test_a_signature_reads_like_the_function(name: str, shown: str) -> None:
    """Types are those of JSON."""
    assert signature(name, app.tasks[name].describe()) == shown


@pytest.mark.parametrize("name", ["simple", "rich", "nothing"])
def test_a_sample_is_accepted_by_the_task(name: str) -> None:
    """The command that is suggested works as it is."""
    task = app.tasks[name]
    schema = task.describe()["input"]
    task.signature.encode((), sample(schema, schema))


def test_a_sample_of_a_type_without_end_has_an_end() -> None:
    """It only shows the shape."""
    schema = app.tasks["nested"].describe()["input"]
    assert sample(schema, schema)["node"]["value"] == 1.5


def test_the_suggested_command_survives_a_shell() -> None:
    """Quotes are where they must be."""
    words = shlex.split(submit_line("simple", simple.describe(), store="embedded://a b"))
    assert words == [
        *("holdfast", "submit", "simple", "--input", '{"name": "text"}'),
        *("--store", "embedded://a b", "--wait"),
    ]
    assert submit_line("nothing", nothing.describe()) == "holdfast submit nothing --wait"


def test_a_conversation_is_shown_as_one() -> None:
    """Nobody submits it, so it has no signature."""
    bots = App()

    @bots.conversation
    async def booking(chat: Chat) -> None:
        """Book."""

    assert signature("booking", booking.describe()) == "booking, a conversation"
