"""`holdfast dead-replies`: replies that no sender could deliver: list, resend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.errors import ReplyNotFound, SessionNotFound

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.model.dead_replies import DeadReply

app: typer.Typer = typer.Typer(cls=Noun, help="Replies that no sender could deliver: list, resend.")

TenantOption = Annotated[str | None, typer.Option("--tenant", help="Only of this tenant.")]
_PAGE = 500


@app.command()
def ls(
    *,
    tenant: TenantOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many on a page.")] = 50,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Continue where a page ended.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List dead replies, the last to die first."""
    page = opening.ask(
        store, lambda engine: engine.dead_replies.list(tenant=tenant, limit=limit, cursor=cursor)
    )
    if as_json:
        output.emit(page)
        return
    columns = ("session", "number", "died", "tenant", "endpoint", "user", "problem")
    rows = [
        (
            one.session,
            one.number,
            times.ago(one.died_at),
            one.key.tenant,
            one.key.endpoint,
            one.key.user,
            one.problem,
        )
        for one in page.items
    ]
    output.show_table(columns, rows, nothing="no dead replies")
    if page.next_cursor is not None:
        output.note(f"more: --cursor {page.next_cursor}")


@app.command()
def resend(
    *,
    endpoint: Annotated[
        str | None, typer.Option("--endpoint", help="Only those of this endpoint.")
    ] = None,
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send dead replies once more, those of each session in their order."""

    async def work(engine: Engine) -> int:
        # All first: one that dies again at once is not sent a second time.
        found = await _all(engine, tenant)
        count = 0
        for one in sorted(found, key=lambda reply: (reply.session, reply.number)):
            if endpoint is None or one.key.endpoint == endpoint:
                count += await _send_again(engine, one)
        return count

    count = opening.ask(store, work)
    said = f"replies on their way again: {count}"
    output.answer({"resent": count}, said, as_json=as_json)


async def _all(engine: Engine, tenant: str | None) -> list[DeadReply]:
    found: list[DeadReply] = []
    cursor = None
    while True:
        page = await engine.dead_replies.list(tenant=tenant, limit=_PAGE, cursor=cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


async def _send_again(engine: Engine, reply: DeadReply) -> bool:
    try:
        await engine.sessions.resend(reply.session, reply.number)
    except (ReplyNotFound, SessionNotFound):
        # It left the transcript meanwhile, or somebody else was faster.
        return False
    return True
