"""model.ids: minted ids, and ids that stand for idempotency keys."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from holdfast.model import checks
from holdfast.model.ids import id_of_key, new_id


def test_ids_sort_by_the_time_of_their_making(monkeypatch: pytest.MonkeyPatch) -> None:
    """An id of a later millisecond is greater as text."""
    moments = [0, 1, 31, 32, 1_767_225_600_000, 1_767_225_600_001, 33_000_000_000_000]
    ids = []
    for ms in moments:
        monkeypatch.setattr(time, "time_ns", lambda ms=ms: ms * 1_000_000)
        ids.append(new_id())
    assert ids == sorted(ids)


def test_ids_of_one_millisecond_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """A millisecond is never a unique key."""
    monkeypatch.setattr(time, "time_ns", lambda: 1_767_225_600_000_000_000)
    assert len({new_id() for _ in range(20_000)}) == 20_000


def test_an_id_has_twenty_plain_characters() -> None:
    """Every id passes the check of ids and of lease names."""
    minted = new_id()
    assert len(minted) == 20
    assert checks.execution_id("id", minted) == checks.name("lease", minted) == minted


def test_a_key_always_stands_for_the_same_id() -> None:
    """The value is pinned, because it is stored."""
    assert id_of_key("acme", "order 1") == "kqf7n37atw67cjm9hdc7xw1yr"


def test_a_key_means_another_id_for_another_tenant() -> None:
    """Keys are per tenant, and no mix of the two names collides."""
    assert id_of_key("acme", "k") != id_of_key("acne", "k")
    assert id_of_key("a", "bc") != id_of_key("ab", "c")


def test_any_text_makes_a_valid_id() -> None:
    """A key may hold any text; its id may not."""
    made = id_of_key("acme", "käse 🧀 / ~ {p:1}")
    assert checks.execution_id("id", made) == made
    assert "~" not in made


def test_ids_of_keys_and_minted_ids_cannot_collide() -> None:
    """They differ in length."""
    assert len(id_of_key("a", "b")) == 25


def test_a_forked_process_mints_ids_of_its_own() -> None:
    """It begins with the memory of its parent, in which halves of ids wait to be used."""
    program = (
        "import os, time\n"
        "from holdfast.model.ids import new_id\n"
        "time.time_ns = lambda: 0\n"
        "new_id()\n"
        "os.fork()\n"
        "os.write(1, ''.join(f'{new_id()}\\n' for _ in range(100)).encode())\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    ids = run.stdout.split()
    assert len(ids) == len(set(ids)) == 200
