"""Invariant 9: sessions under random messages, crashes, lost replies and clock jumps."""

from __future__ import annotations

import pytest

from tests.property.running import LIMIT_S, run_alone

pytestmark = pytest.mark.timeout(LIMIT_S + 10)


def test_each_message_is_answered_once_and_in_order() -> None:
    """Whatever happens, store and model agree on every line of every transcript."""
    run_alone("run_machine", "sessions")
