"""store.call: one table from refusal codes to errors, the same set everywhere."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from holdfast import errors
from holdfast.errors import HoldfastError
from holdfast.store.valkey import call, library

HEADERS = [source.header for source in library.sources().values()]
CONTEXT = {
    "id": "x1",
    "state": "waiting",
    "lane": "bulk",
    "limit": 3,
    "number": 7,
    "step": "s1",
    "instance": "w1",
    "name": "n",
    "by": "from",
    "accepted": "ann, ben",
    "got": "eve",
    "why": "revoked",
    "kid": "k2",
    "graph": "g1",
    "member": "m1",
    "problem": "unknown_member",
    "revision": 2,
    "key": "k1",
    "queue": "q1",
    "group": "g1",
    "mode": "work",
    "env": "prod",
    "deployment": "support",
    "lifecycle": "ready",
    "generation": 4,
    "scope": "prod|acme|support",
    "pack": "support",
    "digest": "sha256:ab",
    "tenant": "acme",
    "expected": 3,
    "names": "a, b",
    "to": "draining",
    "version": 5,
    "bytes": 1_024,
    "rollout": "r1",
}


def test_the_codes_of_the_headers_are_those_of_the_table() -> None:
    """No code without an error, no error that nobody gives."""
    assert {code for header in HEADERS for code in header.refusals} == set(call.REFUSALS)


@pytest.mark.parametrize("code", call.REFUSALS)
def test_each_code_is_the_code_of_its_class(code: str) -> None:
    """Lua, Python and later HTTP say the same word."""
    kind, _ = call.REFUSALS[code]
    assert kind.code == code
    assert getattr(errors, kind.__name__) is kind


def test_every_specific_refusal_class_is_in_the_table() -> None:
    """Errors of families that only the store can refuse with are all given by it."""
    families = (
        errors.Conflict,
        errors.LeaseLost,
        errors.NotFound,
        errors.Unauthorized,
        errors.Forbidden,
    )
    made_in_python: set[type[HoldfastError]] = {errors.ResultNotReady}
    made_in_python |= {errors.ConversationNotFound, errors.ReplyRejected}
    made_in_python |= {errors.FlowNotFound, errors.AmbiguousFlow, errors.SecretUnreadable}
    made_in_python |= {errors.ProviderNotFound, errors.AmbiguousProvider, errors.OperationDenied}
    made_in_python |= {errors.ProviderNotLoaded, errors.AmbiguousIdentity}
    made_in_python |= {errors.RolloutOver, errors.NoSplit, errors.WebChatNotFound}
    made_in_python |= {errors.InvalidSignature, errors.TooManyViews}
    made_in_python |= {errors.BulkNotFound, errors.BulkConflict, errors.SelectionChanged}
    made_in_python |= {errors.FileNotFound, errors.FilesFull, errors.FilesNotTaken}
    made_in_python |= {errors.Held, errors.LostRace, errors.Fenced}
    given = {kind for kind, _ in call.REFUSALS.values()} - {errors.QueueFull}
    leaves = {
        cls
        for _, cls in inspect.getmembers(errors, inspect.isclass)
        if issubclass(cls, families) and cls not in families
    }
    assert leaves - made_in_python == given - {errors.InvalidGraph}


@pytest.mark.parametrize("code", call.REFUSALS)
def test_each_refusal_has_its_sentence(code: str) -> None:
    """The sentence is complete and the context is kept."""
    error = call.refusal(code, dict(CONTEXT))
    assert type(error) is call.REFUSALS[code][0]
    assert "{" not in str(error)
    assert error.context == CONTEXT


def test_a_refusal_of_a_newer_library_is_told_as_one() -> None:
    """A code that this version does not know is no fault of the call."""
    error = call.refusal_of([b"code_of_tomorrow", b"id", b"x1"])
    assert isinstance(error, errors.StoreIncompatible)
    assert "code_of_tomorrow" in str(error)
    assert error.context == {"refusal": "code_of_tomorrow"}


@pytest.mark.parametrize(
    ("reply", "kind", "context"),
    [
        ([b"execution_not_found", b"id", b"x1"], errors.ExecutionNotFound, {"id": "x1"}),
        (
            [b"replay_limit", b"id", b"x1", b"limit", 10],
            errors.ReplayLimit,
            {"id": "x1", "limit": 10},
        ),
    ],
)
def test_a_refusal_is_read_from_its_reply(
    reply: list[Any], kind: type[HoldfastError], context: dict[str, Any]
) -> None:
    """Code first, then names and values."""
    error = call.refusal_of(reply)
    assert type(error) is kind
    assert error.context == context


def test_each_sentence_gets_what_it_needs_from_lua() -> None:
    """Every reply.no of a code carries the values that its sentence shows."""
    text = "".join(source.text for source in library.sources().values())
    for code, given in re.findall(r"reply\.no\('(\w+)'([^)]*)\)", text):
        needed = set(re.findall(r"{(\w+)}", call.REFUSALS[code][1]))
        assert needed <= set(re.findall(r"'(\w+)'", given)), code
