"""Whether payloads are encrypted, judged by the newest executions."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from holdfast.errors import ExecutionNotFound, PayloadUnreadable
from holdfast.model import references
from holdfast.model.findings import Finding, error, ok, warning
from holdfast.model.listing import Filter
from holdfast.model.sealing import is_sealed, kids_in
from holdfast.store.engine import StoreEngine
from holdfast.store.executions import input_scopes
from holdfast.store.store import Store

CHECK = "encryption"
#: How many of the newest executions are looked at.
_LOOKED_AT = 100


@dataclass(slots=True)
class Survey:
    """How the newest inputs are stored."""

    plain: int = 0
    #: How many inputs each key sealed.
    sealed: Counter[str] = field(default_factory=Counter)
    #: Keys of this process that do not open what keys of their names sealed.
    wrong: set[str] = field(default_factory=set)


async def look(engine: StoreEngine) -> Finding:
    """Find out whether payloads are sealed, and whether this process can open them."""
    store = engine.store
    page = await store.queries.list_executions(Filter(), _LOOKED_AT, None)
    survey = Survey()
    await asyncio.gather(*(_see(store, one.id, one.tenant, survey) for one in page.items))
    codec = store.sealing.codec
    known = () if codec is None else codec.kids
    return judge(survey, known, seals=store.sealing.sealer is not None)


async def _see(store: Store, execution_id: str, tenant: str, survey: Survey) -> None:
    try:
        payload = await store.queries.input(execution_id)
    except ExecutionNotFound:
        return
    if references.is_reference(payload):
        return
    if not is_sealed(payload):
        survey.plain += 1
        return
    kids = set(kids_in(payload))
    survey.sealed.update(kids)
    try:
        store.sealing.open(payload, **input_scopes(execution_id, tenant))
    except PayloadUnreadable:
        survey.wrong |= kids


def judge(survey: Survey, known: Sequence[str], *, seals: bool) -> Finding:
    """Say how payloads are stored; `known` has the ids of this process's keys."""
    missing = sorted(survey.sealed.keys() - set(known))
    if missing:
        text = f"payloads are sealed with keys that are not here: {', '.join(missing)}"
        return error(CHECK, text, "add them to HOLDFAST_CODEC_KEYS")
    if survey.wrong:
        text = f"payloads do not open with the keys {', '.join(sorted(survey.wrong))}"
        fix = "a key has another value than the one that sealed them, or they were altered"
        return error(CHECK, text, fix)
    total = survey.plain + survey.sealed.total()
    if not seals:
        older = survey.sealed.total()
        kept = f"; {older} of the newest {total} inputs are encrypted" if older else ""
        return ok(CHECK, f"off: payloads are stored as they are{kept}")
    counts = ", ".join(f"{kid} {count}" for kid, count in survey.sealed.most_common())
    if survey.plain:
        text = f"mixed: {survey.plain} of the newest {total} inputs are not encrypted"
        fix = "older ones stay so until they are removed; new ones come from a process without keys"
        return warning(CHECK, text, fix)
    newest = f"; the newest {total} inputs by key: {counts}" if total else ""
    return ok(CHECK, f"on, sealing with {known[0]}{newest}")
