"""`holdfast budgets` and `holdfast quotas`, with a worker in another process."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast.engine import open_engine
from holdfast.model.states import State
from holdfast.testing.polling import wait_for
from tests.acceptance.test_cli import (
    Shop,
    asked,
    background,
    done,
    holdfast,
    wait_for_file,
    write_shop,
)

SOURCE = '''
import asyncio
from pathlib import Path

from holdfast import App, Context

app = App()


@app.task
async def hold(gate: str) -> str:
    """Wait for a file."""
    Path(gate + ".started").touch()
    while not Path(gate).exists():
        await asyncio.sleep(0.01)
    return "released"


@app.task(budgets=["team"])
async def spend(ctx: Context, tokens: int) -> str:
    """Spend tokens."""
    async with ctx.budget.reserve(tokens=tokens) as r:
        r.settle(tokens=tokens)
    return "spent"
'''


@pytest.fixture(scope="module")
async def shop(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shop]:
    """An app with a task that spends, run by a worker."""
    folder = write_shop(tmp_path_factory.mktemp("limits"), SOURCE)
    with background(["worker", "shop:app", "--lease", "2s"], folder) as worker:
        await worker.wait_for_text("holdfast is running shop:app")
        async with open_engine(f"embedded://{folder}/.holdfast", maintenance=False) as engine:
            yield Shop(folder, engine)


async def test_a_budget_from_its_creation_to_its_reset(shop: Shop) -> None:
    """Created, spent, used up, explained, raised, reset; and its history."""
    folder = shop.folder
    done("budgets", "create", "org", "--hard", "tokens=1000", folder=folder)
    command = ("budgets", "create", "team", "--parent", "org", "--hard", "tokens=10")
    assert done(*command, "--soft", "tokens=5", folder=folder) == "budget team is created\n"
    again = done(*command, "--soft", "tokens=5", folder=folder)
    assert again == "budget team already exists\n"
    # A task is submitted with the budgets that it declares.
    arguments = json.dumps({"tokens": 8})
    assert asked("submit", "spend", "-i", arguments, "--wait", folder=folder)["result"] == "spent"
    found = asked("budgets", "show", "team", folder=folder)
    assert (found["usage"], found["over_soft"]) == ({"tokens": 8}, ["tokens"])
    broke = holdfast("submit", "spend", "-i", arguments, "--wait", folder=folder)
    assert broke.returncode == 1
    assert "budget team has no tokens left" in broke.stderr
    await shop.engine.budgets.report("team", {"tokens": 2})
    waiting = done("submit", "spend", "-i", '{"tokens": 1}', folder=folder).strip()

    async def blocked() -> bool:
        return (await shop.engine.describe(waiting)).state is State.RATE_LIMITED

    await wait_for(blocked)
    said = "It waits for budget team: 10 of 10 tokens are used up, until it is reset or raised."
    assert said in done("explain", waiting, folder=folder)
    kinds = [one["kind"] for one in asked("budgets", "breaches", "team", folder=folder)["items"]]
    assert kinds == ["soft", "hard"]
    done("budgets", "set", "team", "--hard", "tokens=11", folder=folder)
    assert (await shop.engine.wait(waiting, timeout_s=20)).state is State.COMPLETED
    assert done("budgets", "reset", "team", folder=folder) == "budget team: tokens 0/11\n"
    listed = {one["id"]: one for one in asked("budgets", folder=folder)["items"]}
    assert listed["org"]["usage"] == {"tokens": 11}


async def test_a_quota_lets_one_run_at_a_time(shop: Shop, tmp_path: Path) -> None:
    """The second starts as soon as the first ends, without anybody polling."""
    folder = shop.folder
    done("quotas", "create", "one", "--max-concurrent", "1", folder=folder)
    done("quotas", "attach", "one", "--kind", "hold", folder=folder)
    rules = asked("quotas", "rules", folder=folder)["items"]
    assert rules == [{"subject": "kind", "value": "hold", "limit": "quota", "id": "one"}]
    gates = [str(tmp_path / name) for name in ("first", "second")]
    ids = [await shop.submit("hold", {"gate": gate}) for gate in gates]
    await wait_for_file(Path(gates[0] + ".started"))

    async def blocked() -> bool:
        return (await shop.engine.describe(ids[1])).state is State.RATE_LIMITED

    await wait_for(blocked)
    assert "1 of 1" in done("quotas", "ls", folder=folder)
    assert "quota one" in done("ls", "--state", "rate_limited", folder=folder)
    _open(gates[0])
    await wait_for_file(Path(gates[1] + ".started"))
    _open(gates[1])
    assert (await shop.engine.wait(ids[1], timeout_s=20)).state is State.COMPLETED
    done("quotas", "detach", "one", "--kind", "hold", folder=folder)
    done("quotas", "delete", "one", folder=folder)
    assert holdfast("quotas", "show", "one", folder=folder).returncode == 3


def _open(gate: str) -> None:
    Path(gate).touch()


def test_wrong_limits_are_told(shop: Shop) -> None:
    """In one line, with the code of the error."""
    for command, code in (
        (("budgets", "create", "x", "--hard", "tokens=many"), "invalid_input"),
        (("budgets", "create", "x", "--parent", "none"), "budget_not_found"),
        (("budgets", "create", "x", "--on-hard", "explode"), "invalid_input"),
        (("quotas", "create", "x"), "invalid_input"),
        (("quotas", "create", "x", "--window", "1m"), "invalid_input"),
        (("submit", "hold", "--no-check", "--quota", "none"), "quota_not_found"),
        (("submit", "hold", "--debounce", "key"), "invalid_input"),
    ):
        shown = holdfast(*command, "--json", folder=shop.folder)
        assert shown.returncode in (2, 3)
        assert json.loads(shown.stderr)["error"]["code"] == code


def test_a_window_of_submissions(shop: Shop) -> None:
    """The first wins, or the last."""
    command = ("submit", "hold", "--lane", "nobody", "-i")
    for option in ("--throttle", "--debounce"):
        first = asked(*command, '{"gate": "a"}', option, "k=1h", folder=shop.folder)
        second = asked(*command, '{"gate": "b"}', option, "k=1h", folder=shop.folder)
        assert (second["id"], second["duplicate"]) == (first["id"], True)
        data = asked("show", first["id"], folder=shop.folder)["input"]
        assert data == {"gate": "a" if option == "--throttle" else "b"}


async def test_a_killed_worker_leaks_no_place_and_no_reservation(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Another worker goes on under the same quota; what was set aside returns."""
    folder = write_shop(tmp_path_factory.mktemp("killed"), SOURCE)
    done("quotas", "create", "one", "--max-concurrent", "1", folder=folder)
    done("budgets", "create", "team", "--hard", "tokens=10", folder=folder)
    gate = str(tmp_path / "gate")
    async with open_engine(f"embedded://{folder}/.holdfast") as engine:
        shop = Shop(folder, engine)
        with background(["worker", "shop:app", "--lease", "1s"], folder) as worker:
            await worker.wait_for_text("holdfast is running shop:app")
            first = await shop.submit("hold", {"gate": gate}, quotas=["one"])
            await wait_for_file(Path(gate + ".started"))
            second = await shop.submit("hold", {"gate": gate}, quotas=["one"])
            await engine.budgets.reserve("team", {"tokens": 10}, key="k", ttl_ms=500)
            worker.end(signal.SIGKILL)
        _open(gate)
        with background(["worker", "shop:app", "--lease", "1s"], folder):
            for execution_id in (first, second):
                outcome = await engine.wait(execution_id, timeout_s=30)
                assert outcome.state is State.COMPLETED
        assert (await engine.describe(first)).reclaims == 1

        async def at_rest() -> bool:
            quota, budget = await engine.quotas.get("one"), await engine.budgets.get("team")
            return (quota.running, quota.waiting, budget.reserved) == (0, 0, {})

        await wait_for(at_rest)
