"""Decodes replies to values; only this module knows the layout of replies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from holdfast.model.executions import (
    JSON_CONTENT_TYPE,
    Claim,
    ExecutionId,
    Lease,
    Outcome,
    Passed,
)
from holdfast.model.moments import from_ms
from holdfast.model.records import (
    _seen_limits,
    _unpack,
    born,
    entry,
    moment,
    names,
    pairs,
    steps,
    tags,
    text,
)
from holdfast.model.sealing import Sealing
from holdfast.model.session_keys import SessionKey, SessionRef
from holdfast.model.states import AttemptKind, State
from holdfast.model.waitpoints import Effect, Signal, Source, waitpoint_id
from holdfast.store.grants import Grant

#: What a claim hands out of the key of a session, besides the tenant.
SESSION_PARTS = ("env", "endpoint", "conversation", "user")
#: id, epoch, limits.
_GRANT_VALUES = 3


def claim(row: Sequence[Any], lease_id: str, sealing: Sealing) -> Claim:
    """Decode one claim; its payloads are in their stored form."""
    execution_id, fields, payload, packed_tags, journal, wait, *upstreams = row
    record = pairs(fields)
    attempt = int(record[b"attempts"]) - 1
    get = record.get
    return Claim(
        id=ExecutionId(execution_id.decode()),
        tenant=record[b"tenant"].decode(),
        lane=record[b"lane"].decode(),
        kind=record[b"kind"].decode(),
        input=payload,
        lease=Lease(lease_id, int(record[b"epoch"]), attempt),
        expires_at=from_ms(int(record[b"due"])),
        attempt_kind=AttemptKind(get(b"turn", b"initial").decode()),
        priority=int(get(b"priority", 0)),
        requires=names(get(b"requires")),
        tags=tags(packed_tags),
        created_at=born(record),
        deadline_at=moment(get(b"deadline")),
        timeout_at=moment(get(b"timeout_at")),
        replays=int(get(b"replays", 0)),
        steps={step.name: step.result for step in steps(journal)} if journal else {},
        traceparent=text(get(b"trace")),
        budgets=_seen_limits(get(b"limits"), "budget", record[b"tenant"].decode()),
        quotas=_seen_limits(get(b"limits"), "quota", record[b"tenant"].decode()),
        **(_ended_wait(execution_id.decode(), *wait) if wait else {}),
        continued=int(get(b"continued", 0)),
        session=_session(execution_id.decode(), record),
        kept=b"tail" in record,
        passed=[passed(sealing, *given) for given in upstreams[0]] if upstreams else (),
    )


def claims(
    reply: Iterable[Any], lease_id: str, sealing: Sealing
) -> tuple[list[Claim], list[Grant]]:
    """Decode what a claim gives: leases, and grants of executions with limits, some with leases."""
    found: list[Claim] = []
    grants: list[Grant] = []
    cohorts: dict[bytes, _Cohort] = {}
    lease = Lease(lease_id, 1, 0)
    values = iter(reply)
    for value in values:
        if isinstance(value, bytes):
            payload, upstreams = next(values), []
            if isinstance(payload, list):
                payload, *upstreams = payload
            one, limits = _first_claim(value, payload, lease, cohorts)
            if upstreams:
                one.passed = [passed(sealing, *given) for given in upstreams]
            if limits is None:
                found.append(one)
            else:
                grants.append(Grant(one.id, 1, limits, one))
        elif len(value) == _GRANT_VALUES:
            grants.append(Grant(value[0].decode(), value[1], value[2].decode()))
        else:
            one = claim(value, lease_id, sealing)
            if one.budgets or one.quotas:
                # Of a claim that is repeated: nothing says whether it has asked.
                limits = pairs(value[1])[b"limits"].decode()
                grants.append(Grant(one.id, one.lease.epoch, limits, one))
            else:
                found.append(one)
    return found, grants


def admitted(
    reply: Iterable[Any], lease_id: str, grants: Mapping[str, Grant], sealing: Sealing
) -> list[Claim]:
    """Decode the leases of executions that their limits admitted, by id."""
    found: list[Claim] = []
    cohorts: dict[bytes, _Cohort] = {}
    seen: dict[tuple[str, str], tuple[tuple[str, ...], tuple[str, ...]]] = {}
    values = iter(reply)
    for value in values:
        if not isinstance(value, bytes):
            found.append(claim(value, lease_id, sealing))
            continue
        one, _ = _first_claim(value, next(values), Lease(lease_id, 1, 0), cohorts)
        grant = grants[one.id]
        place = (one.tenant, grant.limits)
        limits = seen.get(place)
        if limits is None:
            packed = grant.limits.encode()
            budgets = _seen_limits(packed, "budget", one.tenant)
            limits = seen[place] = budgets, _seen_limits(packed, "quota", one.tenant)
        one.budgets, one.quotas = limits
        if grant.epoch != 1:
            one.lease = Lease(lease_id, grant.epoch, 0)
        found.append(one)
    return found


class _Cohort(NamedTuple):
    """What the first claims of one reply have in common."""

    tenant: str
    lane: str
    kind: str
    expires_at: datetime
    requires: tuple[str, ...]
    #: In stored form; None without any.
    limits: str | None
    budgets: tuple[str, ...]
    quotas: tuple[str, ...]


def _cohort(packed: bytes) -> _Cohort:
    tenant, lane, kind, due, requires, *more = packed.split(b" ")
    limits = more[0].replace(b",", b"\n") if more else None
    return _Cohort(
        tenant=tenant.decode(),
        lane=lane.decode(),
        kind=kind.decode(),
        expires_at=from_ms(int(due)),
        requires=names(requires),
        limits=None if limits is None else limits.decode(),
        budgets=_seen_limits(limits, "budget", tenant.decode()),
        quotas=_seen_limits(limits, "quota", tenant.decode()),
    )


def _first_claim(
    line: bytes, payload: bytes, lease: Lease, cohorts: dict[bytes, _Cohort]
) -> tuple[Claim, str | None]:
    """Decode the first claim of a plain execution, and its limits, which are to be asked."""
    execution_id, birth, priority, trace, packed = line.split(b" ", 4)
    cohort = cohorts.get(packed)
    if cohort is None:
        cohort = cohorts[packed] = _cohort(packed)
    first = Claim(
        id=ExecutionId(execution_id.decode()),
        tenant=cohort.tenant,
        lane=cohort.lane,
        kind=cohort.kind,
        input=payload,
        lease=lease,
        expires_at=cohort.expires_at,
        attempt_kind=AttemptKind.INITIAL,
        priority=int(priority) if priority else 0,
        requires=cohort.requires,
        tags={},
        created_at=from_ms(int(birth) // 1000),
        deadline_at=None,
        timeout_at=None,
        steps={},
        budgets=cohort.budgets,
        quotas=cohort.quotas,
        traceparent=trace.decode() if trace else None,
    )
    return first, cohort.limits


def _session(execution_id: str, record: Mapping[bytes, bytes]) -> SessionRef | None:
    if b"s_user" not in record:
        return None
    parts = {name: record[b"s_" + name.encode()].decode() for name in SESSION_PARTS}
    key = SessionKey(tenant=record[b"tenant"].decode(), **parts)
    session_id, _, _ = execution_id.rpartition("~")
    return SessionRef(id=session_id, key=key, turn=int(record[b"s_turn"] or 0))


def _ended_wait(execution_id: str, key: bytes, *packed: bytes) -> dict[str, Any]:
    signals = tuple(signal(execution_id, one) for one in packed)
    return {"resumed": key.decode(), "signals": signals}


def signal(execution_id: str, packed: bytes) -> Signal:
    """Decode a signal."""
    values: Mapping[str, Any] = _unpack(packed)
    get = values.get
    point = get("point")
    return Signal(
        name=values["name"],
        payload=values["payload"].encode(),
        source=Source(type=get("type", ""), identity=get("identity", "")),
        at=from_ms(values["at"]),
        effect=Effect(values["effect"]),
        waitpoint=None if point is None else waitpoint_id(execution_id, point),
        idempotency_key=get("key"),
        correlation=get("correlation") or None,
    )


def passed(sealing: Sealing, name: bytes, on: bytes, upstream: bytes, *ending: bytes) -> Passed:
    """Decode the result that an upstream passes on; without an ending it must be read."""
    execution_id = upstream.decode()
    return Passed(
        name=name.decode(),
        on=on.decode(),
        id=execution_id,
        outcome=outcome(execution_id, *_sides(*ending), sealing=sealing) if ending else None,
    )


def _sides(state: bytes, content_type: bytes, ending: bytes) -> tuple[bytes, ...]:
    """Return state, result, content type and last log entry."""
    if state == b"completed":
        return state, ending, content_type, b""
    return state, b"", b"", ending


def outcome(
    execution_id: str,
    state: bytes,
    result: bytes,
    content_type: bytes,
    last_entry: bytes,
    *,
    sealing: Sealing,
) -> Outcome:
    """Decode how an execution ended; its result is in its stored form."""
    last = entry(last_entry, sealing.errors_of(execution_id)) if last_entry else {}
    return Outcome(
        id=ExecutionId(execution_id),
        state=State(state.decode()),
        result=result if state == b"completed" else None,
        content_type=content_type.decode() or JSON_CONTENT_TYPE,
        error=last.get("error"),
        reason=last.get("reason") or None,
    )
