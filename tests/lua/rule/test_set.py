"""hf_rule_set, and what create makes of rules."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.engine import Engine
from holdfast.errors import BudgetNotFound, QuotaNotFound
from holdfast.model.quotas import Rule
from tests.support.lifecycle import Dump, create_one
from tests.support.limits import make_budget, make_quota


async def _limits(engine: Engine, **fields: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found = await engine.describe(await create_one(engine.store, **fields))
    return found.budgets, found.quotas


async def test_new_executions_get_the_limits_of_rules(engine: Engine) -> None:
    """By tenant, lane, kind, a tag, and each value of a tag; beside those that they name."""
    for name in ("t", "l", "k", "v", "each", "own"):
        await make_quota(engine.store, name)
    await make_budget(engine.store, "root")
    await make_budget(engine.store, "child", parent="root")
    rules = engine.quotas.rules
    await rules.attach("t", tenant="acme")
    await rules.attach("l", lane="bulk")
    await rules.attach("k", kind="mail/send")
    await rules.attach("v", tag="size=large")
    await rules.attach("each", tag="customer")
    await engine.budgets.rules.attach("child", tenant="acme")
    fields = {
        "tenant": "acme",
        "lane": "bulk",
        "kind": "mail/send",
        "quotas": ("default/own", "default/t"),
    }
    found = await _limits(engine, **fields, tags={"size": "large", "customer": "a#b, c"})
    quotas = ("own", "t", "l", "k", "v", "each#a#b, c")
    assert found == (("default/child",), tuple(f"default/{name}" for name in quotas))
    assert await _limits(engine, tags={"size": "small"}) == ((), ())


async def test_a_long_list_of_limits_is_kept_apart(engine: Engine, dump: Dump) -> None:
    """The record stays small; descriptions show it all the same, and retention removes it."""
    names = [f"quota-with-a-long-name-{n}" for n in range(8)]
    for name in names:
        await make_quota(engine.store, name)
    execution_id = await create_one(engine.store, quotas=tuple(names), retention_ms=0)
    assert (await engine.describe(execution_id)).quotas == tuple(names)
    tag = engine.store.tag_of(execution_id)
    assert f"{tag}:m:{execution_id}" in dump()
    await engine.cancel(execution_id)
    await engine.store.timers.tick(tag, 10)
    assert f"{tag}:m:{execution_id}" not in dump()


async def test_a_rule_is_there_once_and_can_be_taken_back(engine: Engine, dump: Dump) -> None:
    """What was submitted under it keeps its limits."""
    await make_quota(engine.store)
    before = dump()
    for _ in range(2):
        await engine.quotas.rules.attach("q", lane="default")
    expected = Rule(subject="lane", value="default", limit="quota", id="q")
    assert await engine.quotas.rules.list() == [expected]
    assert await engine.budgets.rules.list() == []
    kept = await create_one(engine.store)
    for _ in range(2):
        await engine.quotas.rules.detach("q", lane="default")
    assert await engine.quotas.rules.list() == []
    assert await _limits(engine) == ((), ())
    assert (await engine.describe(kept)).quotas == ("q",)
    settings = {key for key in dump() if key.endswith(":settings")}
    assert settings == {key for key in before if key.endswith(":settings")}


async def test_deleting_a_quota_removes_its_rules(engine: Engine) -> None:
    """Nothing is subject to what is gone."""
    await make_quota(engine.store)
    await engine.quotas.rules.attach("q", lane="default")
    await engine.quotas.delete("q")
    assert await engine.quotas.rules.list() == []


async def test_a_rule_needs_something_to_attach(engine: Engine, dump: Dump) -> None:
    """Otherwise new executions would be refused for a limit that nobody made."""
    before = dump()
    with pytest.raises(QuotaNotFound):
        await engine.quotas.rules.attach("none", lane="default")
    with pytest.raises(BudgetNotFound):
        await engine.budgets.rules.attach("none", lane="default")
    assert dump() == before
