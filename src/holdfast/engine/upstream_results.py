"""Merges the results of upstreams into the input of a graph's member.

The store returns small results with the claim and only names the others, so no result is copied
when an edge is resolved. An edge on failure passes on what went wrong, the others pass on results.
An upstream that has nothing to pass on, such as one that a join did not need, leaves its name out.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

import msgspec

from holdfast.model.executions import JSON_CONTENT_TYPE, Outcome, Passed
from holdfast.model.states import FAILURES

#: The end of an input name that collects the results of all its edges in a list.
LIST_MARK = "[]"

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode


def merge(payload: bytes, passed: Sequence[Passed], outcomes: Sequence[Outcome | None]) -> bytes:
    """Merge the results of upstreams into an input, which is an object or null.

    Any other input stays as it is: its task does not take arguments by name, or refuses it.
    """
    try:
        members = _members(b"{}" if payload == b"null" else payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return payload
    lists: dict[str, list[msgspec.Raw]] = {}
    for given, outcome in zip(passed, outcomes, strict=True):
        value = _value(given, outcome)
        if given.name.endswith(LIST_MARK):
            name = given.name.removesuffix(LIST_MARK)
            lists.setdefault(name, []).extend([value] if value is not None else [])
        elif value is not None:
            members[given.name] = value
    return _encode({**members, **lists})


def _value(given: Passed, outcome: Outcome | None) -> msgspec.Raw | None:
    if outcome is None or not outcome.state.is_terminal:
        return None
    if given.on == "f":
        return _problem(outcome)
    if outcome.result is None:
        return None
    if outcome.content_type != JSON_CONTENT_TYPE:
        return msgspec.Raw(_encode(base64.b64encode(outcome.result).decode()))
    return msgspec.Raw(outcome.result)


def _problem(outcome: Outcome) -> msgspec.Raw | None:
    if outcome.state not in FAILURES:
        return None
    problem = {
        "id": outcome.id,
        "state": outcome.state,
        "error": outcome.error,
        "reason": outcome.reason,
    }
    return msgspec.Raw(_encode(problem))
