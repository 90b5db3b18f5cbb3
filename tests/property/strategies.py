"""What the state machine draws from: few values each, so that they meet again."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from holdfast.model.executions import Failure, NewExecution
from holdfast.model.retry import Backoff, RetryPolicy

LANES = ("fast", "slow")
TENANTS = ("acme", "beta", "coyote")
CAPABILITIES = ("cpu", "gpu", "rev:blue")
KINDS = ("mail", "ocr")
STEPS = ("fetch", "parse", "store")
LARGE = b"x" * 100

indexes = st.integers(0, 30)
tenants = st.sampled_from(TENANTS)
lanes = st.sampled_from(LANES)
capabilities = st.sampled_from((CAPABILITIES, CAPABILITIES, CAPABILITIES[:1], ()))
#: Of a worker: every kind, or only those that it names.
worker_kinds = st.sampled_from((None, KINDS, KINDS[:1], KINDS[1:], ()))
priorities = st.sampled_from((0, 1, -1, 5, 1000))
lease_times = st.sampled_from((1_000, 5_000, 60_000))
results = st.sampled_from((b"1", b"", LARGE))
policies = st.builds(
    RetryPolicy,
    max_attempts=st.integers(1, 3),
    backoff=st.builds(
        Backoff,
        kind=st.sampled_from(("fixed", "exponential")),
        initial_ms=st.sampled_from((0, 100, 3_000)),
        max_ms=st.sampled_from((4_000, 60_000)),
        jitter=st.sampled_from((0.0, 0.5)),
    ),
    give_up_on=st.sampled_from(((), ("Fatal",))),
)


def _mostly_without(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from((None,) * 5 + values)


def _without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


#: The fields of an execution. Those that keep it from running are rare, else little would run.
contents = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(KINDS),
        "tenant": tenants,
        "lane": lanes,
        "input": _mostly_without(b"1", b"", LARGE),
        "priority": _mostly_without(1, -1, 5, 1000),
        "requires": _mostly_without(("cpu",), ("cpu", "gpu"), ("rev:blue",)),
        "delay_ms": _mostly_without(0, 1, 1_000),
        "deadline_ms": _mostly_without(1, 1_000, 10_000, 100_000),
        "attempt_timeout_ms": _mostly_without(1, 500, 2_000, 100_000),
        "retry": st.one_of(st.none(), policies),
        "max_reclaims": _mostly_without(0, 1, 5),
        "max_replays": _mostly_without(0, 1),
        "tags": _mostly_without({"env": "prod"}, {"a": "1", "note": "n" * 70}),
        "retention_ms": _mostly_without(0, 1_000),
    },
).map(_without_none)
#: Few names, so that they meet again, with the same content or another.
ids = st.integers(0, 20).map("e{}".format)
keys = st.integers(0, 3).map("key{}".format)
named = st.tuples(contents, ids).map(lambda pair: NewExecution(**pair[0], id=pair[1]))
keyed = st.tuples(contents, keys).map(lambda pair: NewExecution(**pair[0], idempotency_key=pair[1]))
items = st.one_of(named, named, keyed)
#: To begin with: a few that are all different.
beginnings = st.lists(contents, min_size=2, max_size=6).map(
    lambda many: [NewExecution(**fields, id=f"e{n}") for n, fields in enumerate(many)]
)

#: What a holder can do: the verb and its arguments.
acts: st.SearchStrategy[tuple[Any, ...]] = st.one_of(
    st.tuples(st.just("renew"), lease_times),
    st.tuples(st.just("complete"), results),
    st.tuples(
        st.just("fail"),
        st.builds(
            Failure,
            type=st.sampled_from(("Boom", "Fatal")),
            message=st.just("m"),
            retryable=st.sampled_from((True, True, False)),
            retry_after_ms=st.sampled_from((None, None, 0, 700)),
        ),
    ),
    st.tuples(st.just("delay"), st.sampled_from((0, 1, 1_000, 50_000))),
    st.tuples(st.just("checkpoint"), st.sampled_from(STEPS), results),
    st.tuples(st.just("progress"), st.sampled_from((0, 12.5, 100)), st.sampled_from(("", "half"))),
)
#: What an operator can do to an execution.
operations: st.SearchStrategy[tuple[Any, ...]] = st.one_of(
    st.tuples(st.just("cancel"), st.sampled_from(("", "enough"))),
    st.tuples(st.just("revoke")),
    st.tuples(st.just("replay"), st.booleans(), st.sampled_from(("", *STEPS))),
    st.tuples(st.just("prioritize"), priorities),
)
#: What an operator can set.
configurations: st.SearchStrategy[tuple[Any, ...]] = st.one_of(
    st.tuples(
        st.just("lane"), lanes, st.sampled_from(("open", "open", "open", "paused", "draining"))
    ),
    st.tuples(
        st.just("retention"),
        st.one_of(tenants, st.just("*")),
        st.sampled_from(("completed", "failed", "cancelled", "expired")),
        st.sampled_from((0, 1_000, 60_000, 60_000_000)),
    ),
    st.tuples(st.just("weight"), lanes, tenants, st.sampled_from((None, 0.5, 3))),
)
times = st.sampled_from((1, 500, 1_000, 1_000, 5_000, 5_000, 60_000, 3_600_000, 700_000_000))
