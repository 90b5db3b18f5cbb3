"""Dead replies; they are written with the sessions that they belong to."""

from __future__ import annotations

import asyncio
from typing import Any

from holdfast.model.dead_replies import DeadReply
from holdfast.model.moments import from_ms
from holdfast.model.session_keys import SessionKey
from holdfast.store.domain import Domain


class DeadReplies(Domain):
    """Dead replies, each in the partition of its session."""

    async def page(
        self, *, tenant: str | None, before: tuple[int, str] | None, limit: int
    ) -> list[DeadReply]:
        """Return the replies after a place in the list, the last to die first."""
        at, last = ("", "") if before is None else (str(before[0]), before[1])
        answers = await asyncio.gather(
            *(
                self._call.read("hf_session_dead", tag, tenant or "", at, last, str(limit))
                for tag in self._store.tags()
            )
        )
        found = [_reply(row) for rows in answers for row in rows]
        found.sort(key=lambda one: (one.died_at, f"{one.session}:{one.number}"), reverse=True)
        return found[:limit]


def _reply(row: list[Any]) -> DeadReply:
    session, number, died, problem, values = row
    tenant, env, endpoint, conversation, user = (value.decode() for value in values)
    return DeadReply(
        session=session.decode(),
        number=int(number),
        key=SessionKey(
            conversation=conversation, user=user, endpoint=endpoint, tenant=tenant, env=env
        ),
        died_at=from_ms(int(died)),
        problem=problem.decode(),
    )
