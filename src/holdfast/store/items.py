"""New executions as create.lua reads them."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from holdfast.model import bonds
from holdfast.model.executions import NewExecution
from holdfast.model.ids import new_id
from holdfast.model.moments import to_ms
from holdfast.model.quotas import Window
from holdfast.model.retry import RetryPolicy
from holdfast.model.revisions import revision_of

_pack = msgspec.msgpack.Encoder().encode


def encode_retry(policy: RetryPolicy) -> str:
    """Encode a policy as lib/execution/retry.lua reads it."""
    backoff = policy.backoff
    numbers = (backoff.initial_ms, backoff.max_ms, backoff.factor, backoff.jitter)
    return ",".join([str(policy.max_attempts), backoff.kind, *map(decimal_text, numbers)])


def decimal_text(value: float) -> str:
    """Write a number without an exponent and without losing a digit."""
    return format(Decimal(str(value)), "f")


def item_fields(item: NewExecution, execution_id: str, limits: str = "") -> dict[str, object]:
    """Return the fields of a new execution that create.lua reads; absent ones are left out."""
    optional = {
        "requires": ",".join(item.requires) or None,
        "priority": item.priority or None,
        "delay": item.delay_ms or None,
        "run_at": item.run_at and to_ms(item.run_at),
        "deadline": item.deadline_ms,
        "attempt_timeout": item.attempt_timeout_ms,
        "max_reclaims": item.max_reclaims,
        "max_replays": item.max_replays,
        "keep": item.retention_ms,
        "key": item.idempotency_key,
        "limits": limits or None,
        "trace": item.traceparent,
        "on_end": item.on_end,
        "bond": bonds.bond(item.on_parent_end, item.id),
    }
    fields: dict[str, object] = {k: v for k, v in optional.items() if v is not None}
    fields |= {
        "id": execution_id,
        "tenant": item.tenant,
        "lane": item.lane,
        "kind": item.kind,
    }
    if item.requires and (revision := revision_of(item.requires)) is not None:
        fields["rev"] = revision
    if item.retry is not None:
        fields["retry"] = encode_retry(item.retry)
        if item.retry.give_up_on:
            fields["give_up"] = ",".join(item.retry.give_up_on)
    if item.tags:
        fields["tagged"] = len(item.tags)
        fields["tags"] = [part for pair in item.tags.items() for part in pair]
    if item.is_named:
        fields["named"] = item.id is not None
        fields["digest"] = item.digest()
        fields["nonce"] = new_id()
    if item.window is not None:
        fields |= _window_fields(item, item.window)
    return fields


def encode_item(item: NewExecution, execution_id: str, limits: str = "") -> bytes:
    """Encode a new execution for create.lua."""
    return _pack(item_fields(item, execution_id, limits))


def _window_fields(item: NewExecution, window: Window) -> dict[str, object]:
    mode = "debounce" if item.debounce is not None else "throttle"
    fields: dict[str, object] = {
        "window": mode,
        "window_key": f"{mode} {window.key}",
        "window_ms": window.ms,
        "nonce": new_id(),
    }
    if item.debounce is not None:
        fields["delay"] = window.ms
    return fields
