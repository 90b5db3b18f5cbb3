"""A plain model of sessions, written from their documented rules: FLOWS (turn rules), DESIGN 5, 9.

A message resumes the execution that waits for it, is buffered for the one that runs, or starts
one. At most one execution of a session has not ended. Each message is received once, in order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from holdfast.model.executions import Lease
from tests.property.comparing import Refused

KEEP_MS = 600_000
MOST_ENTRIES, LOOK_EVERY, MOST_TRIMMED = 1000, 16, 16
MOST_SENT, MOST_GIVEN_BACK = 20, 100
APOLOGY = "Something went wrong. Please try again."
ENDED = ("completed", "failed", "cancelled")


@dataclass
class Line:
    """An entry of the transcript."""

    direction: str
    text: str
    at: int = 0
    activity: str | None = None
    effect: str = ""
    execution: int | None = None
    turn: int | None = None
    author: str | None = None
    open: bool = False
    cut: bool = False


@dataclass
class Run:
    """An execution of a session."""

    id: str
    session: str
    number: int
    #: Numbers of messages, or a state.
    input: Any
    state: str = "waiting"
    hold: str = ""
    due: int | None = None
    #: Results by step: the number of a reply, or a list of messages.
    journal: dict[str, Any] = field(default_factory=dict)
    lease: Lease | None = None
    epoch: int = 0
    worker: str = ""
    awaits: str = ""
    kept: int | None = None
    reclaims: int = 0
    replays: int = 0
    continued: int = 0


@dataclass
class Talk:
    """A session."""

    id: str
    sender: str | None
    busy: str = "queue"
    lines: dict[int, Line] = field(default_factory=dict)
    last: int = 0
    active: int = 0
    buffered: list[int] = field(default_factory=list)
    current: int | None = None
    started: int = 0
    turn: int | None = None
    person: str | None = None
    why: str = ""
    handed: int = 0
    timer: int | None = None
    sent: int = 0
    tries: int = 0
    again: list[int] = field(default_factory=list)
    dead: set[int] = field(default_factory=set)
    #: Replies that were dead and sent again.
    resent: set[int] = field(default_factory=set)
    out_at: int | None = None
    fence: str = ""
    #: Every message that was received, in the order of that.
    received: list[int] = field(default_factory=list)


class Model:
    """All sessions and their executions."""

    def __init__(self, now: int) -> None:
        self.now = now
        self.talks: dict[str, Talk] = {}
        self.runs: dict[str, Run] = {}
        self.erased: set[str] = set()

    def current(self, talk: Talk) -> Run | None:
        """The execution that has not ended."""
        return None if talk.current is None else self.runs[f"{talk.id}~{talk.current}"]

    def talk(self, session_id: str) -> Talk:
        """A session that must exist."""
        if session_id not in self.talks:
            raise Refused("session_not_found")
        return self.talks[session_id]

    def is_live(self, run_id: str, lease: Lease) -> bool:
        """Whether a lease still counts."""
        run = self.runs.get(run_id)
        live = run is not None and run.state == "active" and run.lease == lease
        return live and run is not None and run.due is not None and run.due > self.now

    # Messages

    def deliver(
        self, session_id: str, activity: str, text: str, busy: str, sender: str | None
    ) -> tuple[str, int, str | None]:
        """Deliver a message; returns its effect, number and execution."""
        talk = self.talks.get(session_id)
        for number, line in (talk.lines if talk else {}).items():
            if line.activity == activity:
                known = None if line.execution is None else f"{session_id}~{line.execution}"
                return line.effect, number, known
        effect = self._effect(talk, busy) if talk else "started"
        run = self.current(talk) if talk else None
        talk = self.talks.setdefault(session_id, talk or Talk(session_id, sender))
        talk.busy = busy
        line = Line("in", text, activity=activity, effect=effect)
        number = self._append(talk, line)
        if effect == "person":
            return effect, number, None
        if effect == "buffered":
            talk.buffered.append(number)
            line.execution = talk.current
        elif run and effect == "resumed":
            self._resume(run, self._receive(talk, [number], run.number))
        else:
            if run:
                talk.buffered.clear()
                self._end(run, "cancelled")
            self._start(talk, [number])
        return effect, number, f"{session_id}~{talk.current}"

    def _effect(self, talk: Talk, busy: str) -> str:
        """What a message will do."""
        run = self.current(talk)
        if talk.person:
            return "person"
        if run is None:
            return "started"
        if (run.state, run.hold) == ("suspended", "message"):
            return "resumed"
        if busy == "reject":
            raise Refused("session_busy")
        return "interrupted" if busy == "interrupt" else "buffered"

    def _append(self, talk: Talk, line: Line) -> int:
        talk.last += 1
        line.at = talk.active = self.now
        talk.lines[talk.last] = line
        if len(talk.lines) > MOST_ENTRIES or talk.last % LOOK_EVERY == 0:
            self._trim(talk)
        return talk.last

    def _trim(self, talk: Talk) -> None:
        """Drop what is too old, but nothing that was not received."""
        for number in list(talk.lines)[:MOST_TRIMMED]:
            recent = talk.lines[number].at >= self.now - KEEP_MS
            if recent or number == talk.last or number >= min(talk.buffered, default=10**9):
                return
            if talk.lines.pop(number).open:
                # It no longer holds up the replies behind it.
                self._list(talk)
            talk.dead.discard(number)
            if number in talk.again:
                talk.again.remove(number)

    def _receive(self, talk: Talk, numbers: list[int], by: int) -> list[dict[str, Any]]:
        """Let an execution receive messages."""
        talk.turn = numbers[-1]
        talk.received += numbers
        messages = []
        for number in numbers:
            line = talk.lines[number]
            line.turn = numbers[-1] if number != numbers[-1] else None
            line.execution = by
            messages.append(_message(number, line))
        return messages

    def _take(self, talk: Talk) -> list[int]:
        count = len(talk.buffered) if talk.busy == "merge" else 1
        taken, talk.buffered = talk.buffered[:count], talk.buffered[count:]
        return taken

    def _start(self, talk: Talk, numbers: list[int]) -> None:
        talk.started += 1
        while f"{talk.id}~{talk.started}" in self.runs:
            talk.started += 1
        talk.current = talk.started
        run_id = f"{talk.id}~{talk.started}"
        given = {"messages": self._receive(talk, numbers, talk.started)}
        self.runs[run_id] = Run(run_id, talk.id, talk.started, given)

    def _resume(self, run: Run, result: list[dict[str, Any]]) -> None:
        run.journal[run.awaits] = result
        run.state, run.hold, run.due = "waiting", "", None

    def _reply(self, talk: Talk, line: Line) -> int:
        line.turn = talk.turn
        number = self._append(talk, line)
        self._list(talk)
        return number

    def _list(self, talk: Talk) -> None:
        """There may be something to send."""
        if talk.sender and talk.out_at is None:
            talk.out_at = self.now

    def _end(self, run: Run, state: str) -> None:
        run.state, run.hold, run.due, run.kept = state, "", None, None
        talk = self.talks.get(run.session)
        if talk is None or talk.current != run.number:
            return
        talk.current = None
        for line in talk.lines.values():
            if line.open:
                line.open, line.cut = False, True
                self._list(talk)
        if state == "failed":
            self._reply(talk, Line("out", APOLOGY, execution=run.number))
        if talk.person:
            talk.buffered.clear()
        numbers = self._take(talk)
        if numbers:
            self._start(talk, numbers)
        else:
            talk.timer = self.now + KEEP_MS

    # What holders do

    def claimable(self) -> set[str]:
        """What a claim gets."""
        return {run.id for run in self.runs.values() if run.state == "waiting"}

    def claim(self, run_id: str, lease: Lease, worker: str, lease_ms: int) -> tuple[bool, Any]:
        """Lease an execution; returns whether it was kept, and the steps that are handed out."""
        run = self.runs[run_id]
        kept = run.kept is not None and run.kept == run.epoch and run.worker == worker
        run.epoch, run.worker, run.kept = run.epoch + 1, worker, None
        run.state, run.lease, run.due = "active", lease, self.now + lease_ms
        return kept, {run.awaits: run.journal[run.awaits]} if kept else run.journal

    def turn(
        self,
        run_id: str,
        replies: list[tuple[str, str, bool, int | None]],
        wait: tuple[str, int | None, bool, str | None, str] | None,
    ) -> tuple[list[int], Any, bool]:
        """Write replies: step, text, open, number; then wait: step, timeout, kept, person, why."""
        run = self.runs[run_id]
        talk = self.talks[run.session]
        numbers = []
        for step, text, is_open, number in replies:
            if step not in run.journal:
                run.journal[step] = self._write(talk, run, text, number, is_open=is_open)
            numbers.append(run.journal[step])
        if wait is None:
            return numbers, None, False
        step, timeout_ms, kept, person, why = wait
        if step in run.journal:
            return numbers, run.journal[step], False
        if person:
            self._hand_over(talk, person, why)
        elif taken := self._take(talk):
            run.journal[step] = self._receive(talk, taken, run.number)
            return numbers, run.journal[step], False
        run.state, run.hold, run.awaits = "suspended", "person" if person else "message", step
        run.due = None if timeout_ms is None else self.now + timeout_ms
        run.kept = run.epoch if kept else None
        # The next turn may lose as many workers as this one.
        run.reclaims = 0
        return numbers, None, True

    def _write(self, talk: Talk, run: Run, text: str, number: int | None, *, is_open: bool) -> int:
        if number is None:
            return self._reply(talk, Line("out", text, execution=run.number, open=is_open))
        line = talk.lines.get(number)
        if line and line.execution == run.number and (line.open or line.cut):
            line.text, line.open, line.cut = text, False, False
            self._list(talk)
        return number

    def suspend(self, run_id: str) -> None:
        """Wait for an approval."""
        run = self.runs[run_id]
        run.state, run.hold, run.due = "suspended", "signal", None

    def approve(self, run_id: str) -> None:
        """Let an execution continue that waits for an approval."""
        self.runs[run_id].state, self.runs[run_id].hold = "waiting", ""

    def continue_as(self, run_id: str, state: int) -> None:
        """Start again with an empty journal."""
        run = self.runs[run_id]
        run.journal, run.input, run.continued = {}, {"state": state}, run.continued + 1

    def end(self, run_id: str, state: str) -> None:
        """End an execution."""
        run = self.runs[run_id]
        if run.state in ENDED:
            raise Refused("already_terminal")
        self._end(run, state)

    def delay(self, run_id: str, ms: int) -> None:
        """Pause an execution."""
        run = self.runs[run_id]
        run.state, run.due = ("delayed", self.now + ms) if ms else ("waiting", None)

    # What operators do

    def replay(self, run_id: str, *, keep_steps: bool) -> None:
        """Run an ended execution again, if its session is there and does nothing else."""
        run = self.runs[run_id]
        if run.state not in ENDED:
            raise Refused("not_terminal")
        talk = self.talk(run.session)
        if talk.current is not None:
            raise Refused("session_busy")
        talk.current = run.number
        run.state, run.reclaims, run.replays = "waiting", 0, run.replays + 1
        if not keep_steps:
            run.journal = {}

    def say(self, session_id: str, author: str, text: str) -> int:
        """Reply as a person."""
        return self._reply(self.talk(session_id), Line("out", text, author=author))

    def _hand_over(self, talk: Talk, person: str, why: str) -> None:
        talk.handed = talk.handed if talk.person else talk.last
        talk.person, talk.why = person, why
        self._append(talk, Line("note", _note(person, why)))

    def handover(self, session_id: str, to: str | None, why: str) -> None:
        """Let a person answer, or give the session back."""
        talk = self.talk(session_id)
        if to and (talk.person, talk.why) != (to, why):
            self._hand_over(talk, to, why)
        elif talk.person and not to:
            talk.person = None
            run = self.current(talk)
            if run and run.hold == "person":
                came = [
                    _message(number, line)
                    for number, line in talk.lines.items()
                    if number > talk.handed and line.effect == "person"
                ]
                self._resume(run, came[-MOST_GIVEN_BACK:])
            self._append(talk, Line("note", _note("the conversation", why)))

    def finish(self, session_id: str) -> None:
        """Cancel what runs, and drop what was buffered."""
        talk = self.talk(session_id)
        talk.buffered.clear()
        talk.person = None
        if run := self.current(talk):
            self._end(run, "cancelled")

    def erase(self, session_id: str) -> None:
        """Remove a session and its executions; safe to repeat."""
        if session_id in self.erased - self.talks.keys():
            return
        talk = self.talk(session_id)
        for number in range(1, talk.started + 1):
            self.runs.pop(f"{session_id}~{number}", None)
        del self.talks[session_id]
        self.erased.add(session_id)

    # Sending

    def pending(self, talk: Talk) -> list[int]:
        """Numbers of replies that are to be sent next."""
        if talk.again:
            return talk.again[:1]
        found: list[int] = []
        for number, line in talk.lines.items():
            if number <= talk.sent:
                continue
            if line.open or len(found) == MOST_SENT:
                break
            if line.direction == "out" and not line.cut:
                found.append(number)
        return found

    def outgoing(self, fence: str, lease_ms: int) -> dict[str, list[int]]:
        """Take sessions with replies to send."""
        handed = {}
        for talk in self.talks.values():
            if talk.out_at is None or talk.out_at > self.now:
                continue
            numbers = self.pending(talk)
            talk.out_at = self.now + lease_ms if numbers else None
            if numbers:
                talk.fence = fence
                handed[talk.id] = numbers
        return handed

    def settle(self, session_id: str, fence: str, number: int, outcome: str, ms: int) -> None:
        """Say what became of a reply; what follows may be taken after `ms`."""
        talk = self.talk(session_id)
        if talk.fence != fence:
            raise Refused("stale_lease")
        if outcome == "retry":
            talk.tries, talk.fence, talk.out_at = talk.tries + 1, "", self.now + ms
            return
        if outcome == "dead":
            talk.dead.add(number)
        talk.sent, talk.tries = max(talk.sent, number), 0
        if number in talk.again:
            talk.again.remove(number)
        talk.out_at = self.now + ms if self.pending(talk) else None

    def resend(self, session_id: str, number: int) -> None:
        """Send a dead reply again; safe to repeat."""
        talk = self.talk(session_id)
        if number not in talk.dead:
            if number not in talk.resent & talk.lines.keys():
                raise Refused("reply_not_found")
            return
        talk.dead.remove(number)
        talk.resent.add(number)
        talk.again.append(number)
        talk.tries = 0
        self._list(talk)

    # Time

    def tick(self) -> None:
        """Do what is due."""
        for run in self.runs.values():
            if run.state in ENDED or run.due is None or run.due > self.now:
                continue
            if run.state == "active":
                self._reclaim(run)
            elif run.state == "suspended":
                if run.hold == "person":
                    self.talks[run.session].person = None
                self._resume(run, [])
            else:
                run.state, run.due = "waiting", None
        for talk in list(self.talks.values()):
            self._expire(talk)

    def _reclaim(self, run: Run) -> None:
        run.reclaims += 1
        delay = 0 if run.reclaims == 1 else min(60_000, 1_000 * 2 ** (run.reclaims - 2))
        run.state, run.due = ("delayed", self.now + delay) if delay else ("waiting", None)

    def _expire(self, talk: Talk) -> None:
        if talk.timer is None or talk.timer > self.now:
            return
        if talk.current is not None:
            talk.timer = None
        elif talk.active + KEEP_MS <= self.now:
            del self.talks[talk.id]
        else:
            talk.timer = talk.active + KEEP_MS


def _note(who: str, why: str) -> str:
    return f"{who} answers: {why}" if why else f"{who} answers"


def _message(number: int, line: Line) -> dict[str, Any]:
    return {
        "number": number,
        "at": line.at,
        "id": line.activity,
        "payload": {"text": line.text},
    }
