"""What upstreams of a graph pass on: put into the input of the member that is claimed.

The store hands out small results with the claim and names the others, which are read here, so no
result is copied when an edge is resolved. An edge on failure passes on what went wrong. An upstream
that has nothing to pass on, such as one that a join did without, leaves its name out.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import msgspec

from holdfast.errors import HoldfastError
from holdfast.model.executions import JSON_CONTENT_TYPE, Claim, Outcome, Passed
from holdfast.store import decode

log: logging.Logger = logging.getLogger(__name__)

#: Returns state and outcome of an execution.
Read = Callable[[str], Awaitable[list[bytes]]]
#: Returns a payload that may be kept outside the store.
Fetch = Callable[[bytes], Awaitable[bytes]]

#: At the end of an input name: the results of all such edges, in a list.
LIST_MARK = "[]"
#: Results read at once for one claim.
_READS = 32

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode


async def with_passed_inputs(read: Read, fetch: Fetch, claims: list[Claim]) -> list[Claim]:
    """Return the claims with complete inputs."""
    if not any(claim.passed for claim in claims):
        return claims
    merged = await asyncio.gather(*(_complete(read, fetch, claim) for claim in claims))
    # A claim whose upstreams cannot be read now is left to expire and to be claimed again.
    return [claim for claim in merged if claim is not None]


async def _complete(read: Read, fetch: Fetch, claim: Claim) -> Claim | None:
    if not claim.passed:
        return claim
    reading = asyncio.Semaphore(_READS)

    async def outcome(passed: Passed) -> Outcome | None:
        found = passed.outcome
        async with reading:
            if found is None:
                state, *ending = await read(passed.id)
                found = decode.outcome(passed.id, state, *ending) if ending else None
            if found is None or found.result is None:
                return found
            return replace(found, result=await fetch(found.result))

    try:
        payload = await fetch(claim.input)
        outcomes = await asyncio.gather(*(outcome(passed) for passed in claim.passed))
    except HoldfastError as error:
        log.warning("the upstreams of %s cannot be read now: %s", claim.id, error)
        return None
    return replace(claim, input=merge(payload, claim.passed, outcomes), passed=())


def merge(payload: bytes, passed: Sequence[Passed], outcomes: Sequence[Outcome | None]) -> bytes:
    """Put what upstreams pass on into an input, which is an object or null.

    An input that is neither is left as it is: its task does not take arguments by name.
    """
    try:
        members = _members(b"{}" if payload == b"null" else payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
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
    if outcome.result is None:
        if given.on != "f":
            return None
        problem = {
            "id": outcome.id,
            "state": outcome.state,
            "error": outcome.error,
            "reason": outcome.reason,
        }
        return msgspec.Raw(_encode(problem))
    if outcome.content_type != JSON_CONTENT_TYPE:
        return msgspec.Raw(_encode(base64.b64encode(outcome.result).decode()))
    return msgspec.Raw(outcome.result)
