"""A cache of task declarations, so that submissions do not have to read them.

Declarations are read when they are first needed. The store announces changes; because an
announcement can get lost, they are also read again after a while.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.errors import BudgetNotFound, HoldfastError, InvalidInput, QuotaNotFound
from holdfast.model.declarations import Conversation, Declaration, completed, declaration
from holdfast.model.executions import NewExecution
from holdfast.model.schemas import Uncheckable
from holdfast.store import channels

if TYPE_CHECKING:
    from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

#: The topic of the global partition that announces changes.
TOPIC = "tasks"
#: Declarations are read again after this long, in case an announcement was lost.
FRESH_S = 30.0
#: The CPU time that the checks of one call may take; the remaining items are not checked.
CHECKS_S = 0.5
#: Other coroutines can run after this many checks.
_CHECKS_AT_ONCE = 20
_MOST = 10_000

#: A tenant and a kind.
Pair = tuple[str, str]


class Declarations:
    """The declarations that workers have published."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[Pair, tuple[float, Declaration | None]] = {}
        #: What messages start, each with the declaration that it was made of.
        self._turns: dict[Pair, tuple[Declaration, NewExecution]] = {}
        #: Increases whenever a cached declaration may have changed.
        self._changes = 0
        self._channel = channels.topic(store.global_tag, TOPIC)
        self._listening = False
        self._lock = asyncio.Lock()

    async def close(self) -> None:
        """Stop listening."""
        if self._listening:
            self._listening = False
            self.forget()
            await self._store.subscriptions.remove([self._channel], self._on_news)

    def forget(self) -> None:
        """Discard the cache; declarations are read again when they are needed."""
        self._changes += 1
        self._known.clear()
        self._turns.clear()

    async def complete(
        self, items: Sequence[NewExecution], *, check: bool = True
    ) -> list[NewExecution | InvalidInput]:
        """Return items completed with their declarations, or the problem of their input."""
        asking = {
            (item.tenant, item.kind) for item in items if item.unset or (item.check and check)
        }
        if not asking:
            return list(items)
        declarations = await self._of(asking)
        if not any(declarations.values()):
            return list(items)
        answers: list[NewExecution | InvalidInput] = []
        # Reading this clock is a system call.
        check = check and any(item.check for item in items)
        ends_at = time.thread_time() + CHECKS_S if check else 0.0
        checked = 0
        for item in items:
            declared = declarations.get((item.tenant, item.kind))
            if declared is None:
                answers.append(item)
                continue
            if check and item.check and time.thread_time() < ends_at:
                checked += 1
                if checked % _CHECKS_AT_ONCE == 0:
                    await asyncio.sleep(0)
                if (problem := await self._misfit(item, declared)) is not None:
                    answers.append(problem)
                    continue
            answers.append(_completed(item, declared))
        return answers

    async def completed(self, item: NewExecution, *, check: bool = True) -> NewExecution:
        """Return an item completed with its declaration; raises InvalidInput."""
        (answer,) = await self.complete([item], check=check)
        if isinstance(answer, InvalidInput):
            raise answer
        return answer

    async def conversation(
        self, tenant: str, kind: str
    ) -> tuple[Conversation, NewExecution] | None:
        """Return how a conversation treats messages, and what a message starts.

        None: no worker published one. Both are made once for all messages.
        """
        pair = (tenant, kind)
        declared = (await self._of([pair]))[pair]
        if declared is None or declared.conversation is None:
            return None
        made_of, item = self._turns.get(pair, (None, None))
        if item is None or made_of is not declared:
            item = completed(NewExecution(kind=kind, tenant=tenant, check=False), declared.options)
            self._turns[pair] = (declared, item)
        return declared.conversation, item

    async def _misfit(self, item: NewExecution, declared: Declaration) -> InvalidInput | None:
        try:
            problem = declared.misfit(item.input)
        except Uncheckable as error:
            # The worker decides; a broken schema must not stop submissions.
            log.debug("cannot check an input of task %s (%s)", item.kind, error)
            return None
        if problem is None or await self._store.executions.is_repetition(item):
            return None
        return problem

    async def _of(self, pairs: Collection[Pair]) -> Mapping[Pair, Declaration | None]:
        now = asyncio.get_running_loop().time()
        found: dict[Pair, Declaration | None] = {}
        missing = []
        for pair in pairs:
            known = self._known.get(pair)
            if known is not None and now - known[0] < FRESH_S:
                found[pair] = known[1]
            else:
                missing.append(pair)
        if missing:
            await self._listen()
            changes = self._changes
            rows = await self._store.tasks.read(missing)
            fresh = {pair: _read(pair[1], row) for pair, row in rows.items()}
            found |= fresh
            if changes == self._changes:
                if len(self._known) + len(fresh) > _MOST:
                    self._known.clear()
                    self._turns.clear()
                self._known |= {pair: (now, declared) for pair, declared in fresh.items()}
        return found

    async def _listen(self) -> None:
        """Listen before the first read, so that no change is missed in between."""
        async with self._lock:
            if not self._listening:
                await self._store.subscriptions.add([self._channel], self._on_news)
                self._listening = True

    def _on_news(self, _channel: str, _message: str) -> None:
        self.forget()


def _read(kind: str, description: dict[str, Any] | None) -> Declaration | None:
    if description is None:
        return None
    try:
        return declaration(kind, description)
    except InvalidInput as error:
        log.warning("ignoring the published declaration of task %s: %s", kind, error)
        return None


def _completed(item: NewExecution, declared: Declaration) -> NewExecution | InvalidInput:
    try:
        return completed(item, declared.options)
    except InvalidInput as error:
        return error


def blamed(item: NewExecution, error: HoldfastError) -> HoldfastError:
    """Return the refusal of an item; names the task if its declaration is the cause."""
    for kind, field in ((BudgetNotFound, "budgets"), (QuotaNotFound, "quotas")):
        if type(error) is kind and field in item.unset:
            message = f"task {item.kind} declares a limit that is missing: {error.message}"
            return kind(message, **{**error.context, "kind": item.kind})
    return error
