"""Replies that a sender delivers: each arrives, in order; a repeated one has its first key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence

from typing_extensions import override

from holdfast.engine import Engine as NearEngine
from holdfast.model.sessions import Entry
from tests.chaos.seeded.app import SENDER
from tests.chaos.seeded.history import Note
from tests.chaos.seeded.workload.sessions import Sessions, sessions_of
from tests.chaos.seeded.workload.workload import UNENDED, Dump


class Replies(Sessions):
    """Sessions whose replies workers send to a receiver."""

    name = "posted"
    sender = SENDER

    @override
    async def left(self, engine: NearEngine) -> int:
        """Count the replies that were not sent yet: that of a sender that died waits for a time."""
        left = 0
        for session in await sessions_of(engine, self.name):
            entries = (await engine.sessions.transcript(session, limit=1000)).entries
            left += sum(one.direction == "out" and one.delivery == "pending" for one in entries)
        return left

    @override
    async def check(self, engine: NearEngine, dump: Dump) -> AsyncIterator[str]:
        async for text in super().check(engine, dump):
            yield text
        for session in await sessions_of(engine, self.name):
            entries = (await engine.sessions.transcript(session, limit=1000)).entries
            sent = [note for note in self.ledger.of("sent") if note.execution == session]
            for text in judge(entries, sent):
                yield f"session {session}: {text}"


def judge(entries: Sequence[Entry], sent: Sequence[Note]) -> Iterator[str]:
    """Judge what a receiver got of a session: what it got twice had the same key and text."""
    outs = {one.number: one.text for one in entries if one.direction == "out"}
    got: dict[int, str] = {}
    for note in sent:
        number = int(note.name.rsplit(":", 1)[1])
        if got.setdefault(number, note.value) != note.value:
            yield f"reply {number} arrived as {got[number]!r} and as {note.value!r}"
    if list(got) != sorted(got):
        yield f"replies arrived in the order {list(got)}"
    if any(outs.get(number) != text for number, text in got.items()):
        yield f"{got} arrived, and the transcript has {outs}"
    missing = {one.number: one.delivery for one in entries if one.number in outs.keys() - got}
    if set(missing.values()) == {"pending"}:
        yield f"the sending {UNENDED}: {missing}"
    elif missing:
        yield f"replies did not arrive: {missing}"
