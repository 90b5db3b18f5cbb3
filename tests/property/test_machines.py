"""Random operations, several callers, clock jumps and lost replies, against plain models."""

from __future__ import annotations

import pytest

from tests.property.running import LIMIT_S, run_alone

pytestmark = pytest.mark.timeout(LIMIT_S + 10)


@pytest.mark.parametrize(
    "machine",
    ["lifecycle", "streams", "budgets", "quotas", "queues", "pins", "waits", "deployments"],
)
def test_random_operations_agree_with_the_model(machine: str) -> None:
    """Whatever is called in whatever order, store and model agree and the indexes hold."""
    run_alone("run_machine", machine)


def test_the_store_and_the_model_evaluate_conditions_alike() -> None:
    """Any condition, any signals, before and during the wait, at any time."""
    run_alone("run_conditions")


def test_tokens_and_bodies_from_outside_do_no_harm() -> None:
    """Random and half genuine tokens, ids, names, payloads, sources and keys: 4xx, no change."""
    run_alone("run_signal_fuzz")


def test_any_schedule_keeps_the_promises_of_leases_and_manifests() -> None:
    """On a simulated store tokens rise, writers do not overlap, acknowledged commits stay."""
    run_alone("lease_machine")
