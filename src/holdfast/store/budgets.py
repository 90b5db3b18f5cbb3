"""Budgets; each method is one call of one function.

A budget lives in the partition of the root of its tree, so that a charge to it and to all its
ancestors is one atomic call. The partition of its own id stores the root; roots never change, so
each process reads a root once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from holdfast.errors import BudgetConflict, BudgetNotFound
from holdfast.model import names, records
from holdfast.model.budgets import (
    Breach,
    Breaches,
    Budget,
    Charge,
    ChargeStatus,
    Limit,
    NewBudget,
    OnHard,
    Reservation,
    Usage,
)
from holdfast.model.ids import new_id
from holdfast.model.limit_refs import LimitRef
from holdfast.model.moments import from_ms
from holdfast.store import catalog
from holdfast.store.domain import Domain, Partitioned
from holdfast.store.valkey.call import refusal

#: How long the key of a caller is remembered, and one that was minted for a single call.
KEY_MS = 86_400_000
MINTED_KEY_MS = 60_000
_MOST_ROOTS = 100_000

_unpack = msgspec.msgpack.Decoder().decode


class Budgets(Domain):
    """Budgets, by their stored ids."""

    def __init__(self, store: Partitioned) -> None:
        super().__init__(store)
        #: The known root of each budget.
        self._roots: dict[str, str] = {}

    # Partitions

    async def root(self, budget_id: str) -> str:
        """Return the root of the tree of a budget; raises BudgetNotFound."""
        known = self._roots.get(budget_id)
        if known is not None:
            return known
        (found,) = await self._address("", "", budget_id)
        if found == "?":
            raise refusal("budget_not_found", {"id": names.parse(budget_id)[1]})
        if len(self._roots) >= _MOST_ROOTS:
            self._roots.clear()
        return self._roots.setdefault(budget_id, found or budget_id)

    async def _address(self, root: str, previous: str, budget_id: str) -> list[str]:
        tag = self._store.budget_tag(budget_id)
        found = await self._call.write("hf_budget_address", tag, root, previous, budget_id)
        return [value.decode() for value in found]

    async def addresses(self, budget_ids: Iterable[str]) -> list[LimitRef]:
        """Return budgets with the roots of their trees; raises BudgetNotFound."""
        ids = list(budget_ids)
        roots = await asyncio.gather(*map(self.root, ids))
        return [LimitRef.budget(one, root) for one, root in zip(ids, roots, strict=True)]

    async def tag(self, budget_id: str) -> str:
        """Return the tag of the partition in which a budget lives."""
        return self._store.budget_tag(await self.root(budget_id))

    # Definitions

    async def create(self, budget: NewBudget) -> bool:
        """Create a budget; returns whether it is new."""
        budget_id, parent = budget.stored_id, budget.stored_parent
        root = budget_id if parent is None else await self.root(parent)
        tag = self._store.budget_tag(root)
        if tag != self._store.budget_tag(budget_id):
            await self._tell_root(budget_id, root)
        try:
            return await self._create_in(tag, budget, root)
        except BudgetConflict:
            await self._tell_root(budget_id, root)
            return await self._create_in(tag, budget, root)

    async def _create_in(self, tag: str, budget: NewBudget, root: str) -> bool:
        (word,) = await self._call.write(
            "hf_budget_create",
            tag,
            budget.stored_id,
            budget.tenant,
            "" if root == budget.stored_id else root,
            budget.stored_parent or "",
            budget.on_hard,
            "" if budget.reset_ms is None else str(budget.reset_ms),
            *limit_args(budget.limits),
        )
        return bool(word == b"created")

    async def _tell_root(self, budget_id: str, root: str) -> None:
        """Store the root of a budget, unless the budget exists under another root."""
        (known,) = await self._address(root, "", budget_id)
        if known == root:
            return
        try:
            await self._call.read(
                "hf_budget_get", self._store.budget_tag(known or budget_id), budget_id
            )
        except BudgetNotFound:
            # An earlier creation under another root failed midway.
            (known,) = await self._address(root, known, budget_id)
        if known != root:
            raise refusal("budget_conflict", {"id": names.parse(budget_id)[1]})

    async def set(self, budget_id: str, changes: Mapping[tuple[str, str], int | None]) -> None:
        """Change limits, by dimension and `hard` or `soft`; None removes one."""
        args: list[str] = []
        for (dimension, kind), amount in changes.items():
            args += [f"{kind[0]}|{dimension}", "" if amount is None else str(amount)]
        tag = await self.tag(budget_id)
        await self._call.write("hf_budget_set", tag, budget_id, new_id(), *args)

    async def raise_limit(self, budget_id: str, key: str, dimension: str, limit: str) -> None:
        """Raise a hard limit, once per key; a limit that is already higher stays."""
        tag = await self.tag(budget_id)
        await self._call.write(
            "hf_budget_raise", tag, budget_id, key, str(KEY_MS), dimension, limit
        )

    async def reset(self, budget_id: str) -> None:
        """Reset the usage of a budget."""
        tag = await self.tag(budget_id)
        await self._once("hf_budget_reset", tag, budget_id)

    async def get(self, budget_id: str) -> Budget:
        """Return a budget."""
        tag = await self.tag(budget_id)
        fields, waiting, last = await self._call.read("hf_budget_get", tag, budget_id)
        return _decode(budget_id, records.pairs(fields), waiting, last)

    async def breaches(self, budget_id: str) -> list[Breach]:
        """Return the last breaches, oldest first."""
        tag = await self.tag(budget_id)
        (entries,) = await self._call.read("hf_budget_breaches", tag, budget_id)
        return [_breach(entry) for entry in entries]

    async def list_budgets(
        self, tenant: str | None, limit: int, cursor: str | None
    ) -> tuple[list[Budget], str | None]:
        """Return a page in the order of tenant and id."""
        ids, cursor = await catalog.page(
            self._call, "hf_budget_list", self._tags(), tenant=tenant, limit=limit, cursor=cursor
        )
        return list(await asyncio.gather(*map(self.get, ids))), cursor

    def _tags(self) -> list[str]:
        return [tag for tag in self._store.limit_tags() if ":{b:" in tag]

    # Charging

    async def report(
        self, budget_id: str, usage: Usage, key: str | None, execution_id: str = ""
    ) -> Charge:
        """Charge used amounts, once per key."""
        return await self._charge("hf_budget_report", budget_id, usage, key, execution_id)

    async def settle(
        self, budget_id: str, usage: Usage, key: str, execution_id: str = ""
    ) -> Charge:
        """Charge the used part of a reservation; the rest is returned."""
        return await self._charge("hf_budget_settle", budget_id, usage, key, execution_id)

    async def _charge(
        self, function: str, budget_id: str, usage: Usage, key: str | None, execution_id: str
    ) -> Charge:
        tag = await self.tag(budget_id)
        keep_ms = KEY_MS if key is not None else MINTED_KEY_MS
        reply = await self._call.write(
            function, tag, budget_id, key or new_id(), str(keep_ms), execution_id, *_pairs(usage)
        )
        return _charge(reply)

    async def unreserve(self, budget_id: str, key: str, asker: str) -> None:
        """Cancel a reservation of one who asked for it; its key is free again.

        If others have asked for it, too, it stays for them.
        """
        tag = await self.tag(budget_id)
        await self._call.write("hf_budget_unreserve", tag, budget_id, key, asker)

    async def reserve(
        self,
        budget_id: str,
        usage: Usage,
        key: str,
        ttl_ms: int,
        execution_id: str = "",
        *,
        asker: str = "",
    ) -> Reservation:
        """Reserve amounts for a time; an asker may give them back."""
        tag = await self.tag(budget_id)
        word, *rest = await self._call.write(
            "hf_budget_reserve",
            tag,
            budget_id,
            key,
            str(ttl_ms),
            f"{execution_id} {asker}".rstrip(),
            *_pairs(usage),
        )
        if word == b"hard_breach":
            found = _charge([word, *rest])
            return Reservation(
                status=found.status,
                budget=found.budget,
                dimension=found.dimension,
                current=found.current,
                limit=found.limit,
                on_hard=found.on_hard,
            )
        return Reservation(status=ChargeStatus(word.decode()), reserved=_amounts(rest))

    async def spent(self, execution_id: str) -> dict[str, dict[str, int]]:
        """Return the spending of an execution, by budget and dimension."""
        spending: dict[str, dict[str, int]] = {}
        for name, amount in (await self._sum("execution", execution_id)).items():
            budget_id, _, dimension = name.partition("|")
            spending.setdefault(budget_id, {})[dimension] = amount
        return spending

    async def total(self, tenant: str) -> dict[str, int]:
        """Return all charges to the budgets of a tenant since they were created."""
        return dict(await self._sum("tenant", tenant))

    async def _sum(self, what: str, name: str) -> Counter[str]:
        replies = await asyncio.gather(
            *(self._call.read("hf_budget_spent", tag, what, name) for tag in self._tags())
        )
        total: Counter[str] = Counter()
        for (flat,) in replies:
            total.update(_amounts(flat))
        return total

    # Admission

    async def admit(
        self, tag: str, items: Sequence[tuple[str, int, Sequence[str]]]
    ) -> list[str | None]:
        """Return for each execution the budget of one partition that is used up, or None."""
        args: list[str] = []
        for execution_id, epoch, ids in items:
            args += [execution_id, str(epoch), "\n".join(ids)]
        reply = await self._call.write("hf_budget_admit", tag, *args)
        return [budget.decode() or None for budget in reply]

    async def forget(self, tag: str, items: Sequence[tuple[str, str, Sequence[str]]]) -> None:
        """Report that executions no longer wait."""
        args: list[str] = []
        for execution_id, epoch, ids in items:
            args += [execution_id, epoch, "\n".join(ids)]
        await self._call.write("hf_budget_forget", tag, *args)


def limit_args(limits: Mapping[str, Limit]) -> list[str]:
    """Return limits in the form that the library reads."""
    args = []
    for dimension, limit in sorted(limits.items()):
        for letter, amount in (("h", limit.hard), ("s", limit.soft)):
            if amount is not None:
                args += [f"{letter}|{dimension}", str(amount)]
    return args


def _pairs(usage: Usage) -> list[str]:
    return [part for name, amount in sorted(usage.items()) for part in (name, str(amount))]


def _amounts(flat: Sequence[bytes]) -> dict[str, int]:
    return {name.decode(): int(amount) for name, amount in records.pairs(flat).items()}


def _charge(reply: Sequence[bytes | int]) -> Charge:
    words = [part.decode() if isinstance(part, bytes) else str(part) for part in reply]
    status = ChargeStatus(words[0])
    if len(words) == 1:
        return Charge(status=status)
    _, budget_id, dimension, current, limit, on_hard = words
    return Charge(
        status=status,
        budget=budget_id,
        dimension=dimension,
        current=int(current),
        limit=int(limit),
        on_hard=OnHard(on_hard),
    )


def _breach(packed: bytes) -> Breach:
    values = _unpack(packed)
    return Breach(
        at=from_ms(values["at"]),
        kind=values["kind"],
        dimension=values["dimension"],
        current=values["current"],
        limit=values["limit"],
        execution=values.get("by"),
    )


def _decode(budget_id: str, record: Mapping[bytes, bytes], waiting: int, last: bytes) -> Budget:
    by_letter: dict[str, dict[str, int]] = {letter: {} for letter in ("u", "r", "h", "s", "over")}
    for name, value in record.items():
        letter, bar, dimension = name.decode().partition("|")
        if bar:
            by_letter[letter][dimension] = int(value)
    hard, soft = by_letter["h"], by_letter["s"]
    period, tenant = record.get(b"period"), record[b"tenant"].decode()
    parent = records.text(record.get(b"parent"))
    return Budget(
        id=names.parse(budget_id)[1],
        tenant=tenant,
        parent=None if parent is None else names.seen(parent, tenant),
        limits={
            name: Limit(hard=hard.get(name), soft=soft.get(name)) for name in sorted({*hard, *soft})
        },
        usage=by_letter["u"],
        reserved=by_letter["r"],
        on_hard=OnHard(record.get(b"on_hard", b"refuse").decode()),
        reset_ms=None if period is None else int(period),
        next_reset_at=records.moment(record.get(b"next_reset")),
        created_at=from_ms(int(record[b"born"])),
        breaches=Breaches(
            hard=int(record.get(b"hard_breaches", 0)),
            soft=int(record.get(b"soft_breaches", 0)),
            last=_breach(last) if last else None,
        ),
        over_soft=tuple(sorted(by_letter["over"])),
        waiting=waiting,
    )
