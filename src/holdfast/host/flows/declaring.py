"""Flows as conversations of an app."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.host.flows.directives import Direct
from holdfast.host.flows.interpreter import Flows
from holdfast.host.flows.model import Flow, FlowType
from holdfast.model.hints import did_you_mean
from holdfast.model.sessions import Busy
from holdfast.worker.app import App
from holdfast.worker.chat import Chat
from holdfast.worker.context import Context
from holdfast.worker.conversation import Conversation
from holdfast.worker.task import Task

#: What users read when a flow fails and no node handles it.
APOLOGY = "Sorry, something went wrong. Please try again later."


def declare_job(
    app: App,
    flows: Flows,
    entry: str,
    *,
    name: str | None = None,
    requires: Sequence[str] = (),
    budgets: Sequence[str] = (),
) -> Task[Any, Any, Any]:
    """Declare a flow without a conversation as a task of an app; it takes `input`."""
    flow = _entry(flows, entry)
    if flow.type is FlowType.MESSAGING:
        message = f"flow: `{entry}` is a conversation; declare it as one"
        raise InvalidInput(message, field="flow")

    async def work(context: Context, input: Any = None) -> dict[str, Any]:  # noqa: A002 - its name
        return await flows.work(context, entry, {} if input is None else input)

    options = app.task(name=name or entry, requires=tuple(requires), budgets=tuple(budgets))
    return options(work)


def _entry(flows: Flows, entry: str) -> Flow:
    flow = flows.flows.get(entry)
    if flow is None or flow.internal:
        hint = did_you_mean(entry, [one.id for one in flows.flows.values() if not one.internal])
        message = f"flow: there is no flow `{entry}` to start with ({hint})"
        raise InvalidInput(message, field="flow")
    return flow


def declare_flow(
    app: App,
    flows: Flows,
    entry: str,
    *,
    name: str | None = None,
    busy: str = Busy.QUEUE.value,
    apology: str = APOLOGY,
    welcome: str | None = None,
    direct: Direct | None = None,
    requires: Sequence[str] = (),
    budgets: Sequence[str] = (),
) -> Conversation[Any, Any, Any]:
    """Declare a flow as a conversation of an app; `welcome` replaces it once for each user.

    `direct` decides about each message that starts it, before any flow runs. `budgets` pay for
    what it uses, beside those that rules attach.
    """
    _entry(flows, entry)

    async def converse(chat: Chat, state: dict[str, Any] | None = None) -> Any:
        return await flows.converse(chat, entry, state, welcome=welcome, direct=direct)

    decorator = app.conversation(
        name=name or entry,
        busy=Busy(busy).value,
        apology=apology,
        requires=tuple(requires),
        budgets=tuple(budgets),
    )
    return decorator(converse)
