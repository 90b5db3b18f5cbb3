"""Sessions against a plain model (DESIGN, section 5, 9).

Random messages and repetitions, all busy policies, workers that die or lose replies, crashes of the
server, clock jumps, ends, failures, replays, approvals, persons, senders: each message is received
once and in order, a session has at most one execution that has not ended, and the transcript is the
model's.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from holdfast.errors import HoldfastError, SessionNotFound
from holdfast.model import conditions
from holdfast.model.executions import Claim, Failure, Lease, NewExecution
from holdfast.model.moments import to_ms
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity, Busy, MessageWait, NewReply, Session
from holdfast.model.waitpoints import NewSignal, NewWaitpoint
from holdfast.store.waitpoints import Sender
from holdfast.testing.clock import START_MS
from tests.property.comparing import ComparingMachine
from tests.property.sessions_model import ENDED, KEEP_MS, Model, Run
from tests.property.world import World, without_meta
from tests.support.invariants import violations
from tests.support.lifecycle import claim_ready
from tests.support.waits import send_item

LEASE_MS = 20_000
SEND_MS = 60_000
#: One takes 50 ms.
MOST_CRASHES = 2
WORKERS = ("w1", "w2")
#: With and without somebody who sends the replies.
USERS: dict[str, str | None] = {"ann": "web", "bob": None}
KEYS = {user: SessionKey(conversation="c", user=user, endpoint="bot") for user in USERS}
IDS = tuple(key.id for key in KEYS.values())
OPTIONS: dict[str, Any] = {"max_reclaims": 1000, "max_replays": 1000, "retention_ms": 10**10}

REFUSALS = ("stale_lease", "not_active", "execution_not_found")

Held = tuple[str, Lease]

users = st.sampled_from(tuple(USERS))
#: A policy, and which of the last messages comes again, if one does.
messages = st.tuples(
    st.sampled_from((*Busy, Busy.QUEUE, Busy.MERGE)),
    st.sampled_from((None, None, None, 1, 2, 5)),
)
reasons = st.sampled_from(("", "a refund"))
timeouts = st.sampled_from((None, None, 1, 5_000))
waits = st.one_of(
    st.none(),
    st.tuples(timeouts, st.booleans(), st.none(), st.just("")),
    st.tuples(timeouts, st.booleans(), st.none(), st.just("")),
    st.tuples(timeouts, st.booleans(), st.sampled_from((*(None,) * 5, "eve")), reasons),
)
outcomes = st.lists(st.sampled_from(("sent", "sent", "retry", "dead", "gone")), max_size=4)
#: How many replies; whether the first of them is open, those of before come again, those that are
#: open become complete; the wait.
turns = st.tuples(st.just("turn"), st.integers(0, 3), st.sets(st.sampled_from("orc")), waits)
acts = st.one_of(
    turns,
    turns,
    turns,
    turns,
    turns,
    st.tuples(st.sampled_from(("complete", "fail", "continue", "approval"))),
    st.tuples(st.just("delay"), st.sampled_from((0, 3_000))),
)
#: Which worker, whether a lead approves first what waits for that, and what the worker does.
works = st.tuples(st.sampled_from(WORKERS), st.booleans(), st.lists(acts, min_size=1, max_size=3))
times = st.sampled_from((0, 0, 0, 1_000, 5_000, 20_000))
rounds = st.tuples(messages, works, outcomes, times)
operations = st.one_of(
    st.tuples(st.just("handover"), st.sampled_from(("eve", None, None, None)), reasons),
    st.tuples(st.just("say"), st.sampled_from((1, 1, 9))),
    st.tuples(st.sampled_from(("finish", "cancel", "erase", "resend"))),
    st.tuples(st.just("replay"), st.integers(0, 5), st.booleans()),
)


class SessionsMachine(ComparingMachine):
    """Every rule calls the store and the model alike."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.model = Model(START_MS)
        self.held: list[Held] = []
        #: The waitpoints of executions that wait for an approval.
        self.approvals: dict[str, str] = {}
        self.count = self.crashes = 0
        self.last: dict[str, Any] = {}

    def _next(self) -> str:
        self.count += 1
        return str(self.count)

    def _after_refusal(self) -> None:
        assert without_meta(self.world.dump()) == without_meta(self.last)

    def _compare(self, call: Any, expect: Any) -> Any:
        self.last = self.world.dump()
        return self._agree(call, expect)

    @initialize()
    def begin(self) -> None:
        """Keep sessions for a short time."""
        self.world.run(self.store.lanes.set_retention("default", {"session": KEEP_MS}))

    # Users

    @rule(user=users, sent=st.lists(messages, min_size=1, max_size=4), work=works)
    def talk(self, *, user: str, sent: list[tuple[Busy, int | None]], work: Any) -> None:
        """A user sends messages, and some of the last ones again; then a worker works."""
        for busy, old in sent:
            self._deliver(user, busy, old)
        self._work(*work)

    @rule(user=users, rounds=st.lists(rounds, min_size=2, max_size=6))
    def converse(self, *, user: str, rounds: list[tuple[Any, ...]]) -> None:
        """A message, some work, some sending, some time, again and again."""
        for (busy, old), work, outcomes, ms in rounds:
            self._deliver(user, busy, old)
            self._work(*work)
            self._send(outcomes)
            self._pass(ms)

    def _deliver(self, user: str, busy: Busy, old: int | None) -> None:
        key, sender = KEYS[user], USERS[user]
        number = self._next()
        activity = f"m{max(1, self.count - old)}" if old else f"m{number}"
        text = f"text {number}"
        message = Activity(key=key, payload=msgspec.json.encode({"text": text}), id=activity)
        item = NewExecution(kind="bot", check=False, **OPTIONS)

        async def deliver() -> tuple[str, int, str | None]:
            answer = await self.store.sessions.deliver(
                message, item, busy=busy, apology=None, sender=sender
            )
            return answer.effect.value, answer.number, answer.execution

        self._compare(
            deliver(), lambda: self.model.deliver(key.id, activity, text, busy.value, sender)
        )

    # Workers

    @rule(work=works)
    def work(self, *, work: Any) -> None:
        """Claim what is ready; a holder does some of its work, and may be gone then."""
        self._work(*work)

    def _work(self, worker: str, approves: bool, todo: list[tuple[Any, ...]]) -> None:
        if approves:
            self._approve()
        self._claim(worker)
        for act in todo:
            for held in [one for one in self.held if self.model.is_live(*one)]:
                self._act(held, *act)

    def _approve(self) -> None:
        for run in [run for run in self.model.runs.values() if run.hold == "signal"]:
            signal = NewSignal(
                waitpoint=self.approvals[run.id], name="approved", idempotency_key=self._next()
            )
            call = send_item(self.store, signal, Sender())
            self._compare(_none(call), lambda run=run: self.model.approve(run.id))

    def _claim(self, worker: str) -> None:
        expected = self.model.claimable()
        claims = self.world.run(
            claim_ready(
                self.store,
                self.world.tag,
                request=f"r{self._next()}",
                worker=worker,
                lanes=["default"],
                capabilities=[],
                limit=10,
                lease_ms=LEASE_MS,
            )
        )
        assert {claim.id for claim in claims} == expected
        for claim in claims:
            self._check_claim(claim, *self.model.claim(claim.id, claim.lease, worker, LEASE_MS))
            self.held.append((claim.id, claim.lease))

    def _check_claim(self, claim: Claim, kept: bool, steps: dict[str, Any]) -> None:
        run = self.model.runs[claim.id]
        talk = self.model.talks[run.session]
        assert claim.session is not None
        assert (claim.session.id, claim.session.turn) == (run.session, talk.turn)
        assert (claim.kept, claim.continued) == (kept, run.continued)
        assert {name: msgspec.json.decode(value) for name, value in claim.steps.items()} == steps
        assert msgspec.json.decode(claim.input) == run.input

    def _act(self, held: Held, verb: str, *args: Any) -> None:
        run_id, lease = held
        executions = self.store.executions
        if verb == "turn":
            self._turn(held, *args)
        elif verb == "complete":
            call = executions.complete(run_id, lease, b"null")
            self._compare(_none(call), lambda: self.model.end(run_id, "completed"))
        elif verb == "fail":
            failed = executions.fail(run_id, lease, Failure(type="E", message=""))
            self._compare(_none(failed), lambda: self.model.end(run_id, "failed"))
        elif verb == "delay":
            delayed = executions.delay(run_id, lease, *args)
            self._compare(_none(delayed), lambda: self.model.delay(run_id, *args))
        elif verb == "approval":
            self._compare(self._suspend(held), lambda: self.model.suspend(run_id))
        else:
            state, times = self.count, self.model.runs[run_id].continued
            again = executions.continue_as(run_id, lease, b'{"state":%d}' % state, times)
            self._compare(_none(again), lambda: self.model.continue_as(run_id, state))

    async def _suspend(self, held: Held) -> None:
        """Wait for an approval."""
        run_id, lease = held
        key = self._next()
        answer = await self.store.waitpoints.suspend(
            run_id,
            lease.fence,
            [NewWaitpoint(name="approval", key=key)],
            conditions.parse({"waitpoint": "approval"}, ["approval"]),
            names=["approval"],
            key=key,
            timeout_ms=None,
            on_timeout="fail",
            reason="signal",
        )
        self.approvals[run_id] = answer.waitpoints[0].id

    def _turn(
        self,
        held: Held,
        count: int,
        how: set[str],
        wait: tuple[int | None, bool, str | None, str] | None,
    ) -> None:
        run = self.model.runs[held[0]]
        journal = run.journal
        place = sum(name.startswith("say") for name in journal)
        known = [name for name in journal if name.startswith("say")] if "r" in how else []
        replies: list[tuple[str, str, bool, int | None]] = [
            (name, "not written", False, None) for name in known
        ]
        replies += [
            (f"say:{place + n}", f"{run.id} {self._next()}", "o" in how and n == 0, None)
            for n in range(count)
        ]
        if "c" in how:
            replies += [
                (f"end:{run.continued}:{number}", f"complete {number}", False, number)
                for number in self._open_lines(run)
            ]
        waiting = None
        if wait is not None:
            place = sum(name.startswith("receive") for name in journal)
            waiting = (f"receive:{place}", *wait)
        self._compare(
            self._send_turn(held, replies, waiting),
            lambda: self.model.turn(run.id, replies, waiting),
        )

    def _open_lines(self, run: Run) -> list[int]:
        lines = self.model.talks[run.session].lines
        return [n for n, line in lines.items() if line.open and line.execution == run.number]

    async def _send_turn(
        self,
        held: Held,
        replies: list[tuple[str, str, bool, int | None]],
        wait: tuple[str, int | None, bool, str | None, str] | None,
    ) -> tuple[list[int], Any, bool]:
        made = [
            NewReply(
                step=step,
                payload=msgspec.json.encode({"text": text}),
                open=is_open,
                number=number,
            )
            for step, text, is_open, number in replies
        ]
        waiting = None
        if wait is not None:
            step, timeout_ms, kept, person, reason = wait
            waiting = MessageWait(
                step=step, timeout_ms=timeout_ms, kept=kept, person=person, reason=reason
            )
        turned = await self.store.sessions.turn(*held, made, waiting)
        received = None if turned.received is None else msgspec.json.decode(turned.received)
        return list(turned.numbers), received, turned.suspended

    @precondition(lambda self: any(not self.model.is_live(*held) for held in self.held))
    @rule(index=st.integers(0, 20), verb=st.sampled_from(("turn", "complete", "continue")))
    def act_with_a_stale_lease(self, *, index: int, verb: str) -> None:
        """A worker that lost its lease does not know it yet; nothing changes."""
        stale = [held for held in self.held if not self.model.is_live(*held)]
        run_id, lease = stale[-1 - index % len(stale)]
        calls = {
            "turn": self._send_turn((run_id, lease), [("say:x", "late", False, None)], None),
            "complete": self.store.executions.complete(run_id, lease, b"late"),
            "continue": self.store.executions.continue_as(run_id, lease, b"late", 99),
        }
        self.last = self.world.dump()
        for name, call in calls.items():
            if name != verb:
                call.close()
        code = self._code(calls[verb])
        # Who has completed it gets the first answer.
        answers = ("", *REFUSALS) if verb == "complete" else REFUSALS
        assert code in answers
        self._after_refusal()

    def _code(self, call: Any) -> str:
        try:
            self.world.run(call)
        except HoldfastError as error:
            return error.code
        return ""

    @precondition(lambda self: self.world.caller.calls)
    @rule(index=st.integers(0, 20))
    def send_a_turn_again_late(self, *, index: int) -> None:
        """However late a lost call arrives, it does not happen twice."""
        fences = {lease.fence for run_id, lease in self.held if self.model.is_live(run_id, lease)}
        done = [
            call
            for call in self.world.caller.calls
            if call.function == "hf_session_turn" and call.args[1] not in fences
        ]
        if done:
            call = done[-1 - index % len(done)]
            self.last = self.world.dump()
            self.world.run(self.world.caller.send(call.function, call.tag, call.args))
            self._after_refusal()

    # Operators

    @precondition(lambda self: self.model.talks)
    @rule(user=users, chosen=st.lists(operations, min_size=1, max_size=3))
    def operate(self, *, user: str, chosen: list[tuple[Any, ...]]) -> None:
        """Do something to a session, and something else."""
        for verb, *args in chosen:
            getattr(self, f"_{verb}")(KEYS[user].id, *args)

    def _handover(self, session_id: str, to: str | None, reason: str) -> None:
        def expect() -> str | None:
            self.model.handover(session_id, to, reason)
            return to

        self._compare(_person_of(self.store.sessions.handover(session_id, to, reason)), expect)

    def _say(self, session_id: str, count: int) -> None:
        for _ in range(count):
            key = self._next()
            self._compare(
                self._send_reply(session_id, key),
                lambda key=key: self.model.say(session_id, "eve", key),
            )

    async def _send_reply(self, session_id: str, key: str) -> int:
        payload = msgspec.json.encode({"text": key})
        return (await self.store.sessions.say(session_id, key, "eve", payload)).number

    def _finish(self, session_id: str) -> None:
        call = self.store.sessions.finish(session_id, "")
        self._compare(_person_of(call), lambda: self.model.finish(session_id))

    def _cancel(self, session_id: str) -> None:
        talk = self.model.talks.get(session_id)
        run = self.model.current(talk) if talk else None
        if run:
            call = self.store.executions.cancel(run.id, "")
            self._compare(_none(call), lambda: self.model.end(run.id, "cancelled"))

    def _erase(self, session_id: str) -> None:
        call = self.store.sessions.erase(session_id)
        self._compare(call, lambda: self.model.erase(session_id))

    def _resend(self, session_id: str) -> None:
        talk = self.model.talks.get(session_id)
        number = min(talk.dead, default=1) if talk else 1
        call = self.store.sessions.resend(session_id, number)
        self._compare(call, lambda: self.model.resend(session_id, number))

    def _replay(self, session_id: str, index: int, keep_steps: bool) -> None:
        ended = [run_id for run_id in self._ended() if run_id.startswith(session_id)]
        if ended:
            run_id = ended[-1 - index % len(ended)]
            call = self.store.executions.replay(
                run_id, keep_steps=keep_steps, from_step="", reason=""
            )
            self._compare(_none(call), lambda: self.model.replay(run_id, keep_steps=keep_steps))

    def _ended(self) -> list[str]:
        return [run.id for run in self.model.runs.values() if run.state in ENDED]

    # Senders

    @precondition(lambda self: any(talk.out_at for talk in self.model.talks.values()))
    @rule(rounds=st.lists(outcomes, min_size=1, max_size=3), ms=times)
    def send(self, *, rounds: list[list[str]], ms: int) -> None:
        """A process takes what is to be sent, and sends some of it, again and again."""
        for outcomes in rounds:
            self._send(outcomes)
            self._pass(ms)

    def _send(self, outcomes: list[str]) -> None:
        fence = f"f{self._next()}"
        expected = self.model.outgoing(fence, SEND_MS)
        tries = {session_id: self.model.talks[session_id].tries for session_id in expected}
        handed, _ = self.world.run(
            self.store.sessions.outgoing(self.world.tag, fence, ["web"], lease_ms=SEND_MS, limit=10)
        )
        if self.world.caller.lossy:
            # What was handed out is lost, until its lease is over.
            return
        assert {one.session: [r.number for r in one.replies] for one in handed} == expected
        for one in handed:
            assert one.replies[0].tries == tries[one.session]
            for reply, outcome in zip(one.replies, outcomes, strict=False):
                if outcome == "gone":
                    break
                self._settle(one.session, fence, reply.number, outcome)
                if outcome == "retry":
                    break

    def _settle(self, session_id: str, fence: str, number: int, outcome: str) -> None:
        ms = 5_000 if outcome == "retry" else 1_000
        call = self.store.sessions.settle(
            session_id, fence, number, outcome, lease_ms=ms, delay_ms=ms, error="e"
        )
        self._compare(call, lambda: self.model.settle(session_id, fence, number, outcome, ms))

    # Crashes and time

    @precondition(lambda self: self.crashes < MOST_CRASHES)
    @rule()
    def crash(self) -> None:
        """Every process is lost, and the server restarts with what it had."""
        self.crashes += 1
        self.world.crash()

    @rule(ms=st.sampled_from((0, 1, 999, 5_000, 20_000, 61_000, 300_000, 601_000)))
    def pass_time(self, *, ms: int) -> None:
        """Time passes: leases and waits end, sessions are forgotten."""
        self._pass(ms)

    def _pass(self, ms: int) -> None:
        self.model.now += ms
        self.world.run(self.world.clock.set(self.model.now))
        self.world.run(self.world.clock.advance_and_tick(0))
        self.model.tick()

    # After every rule

    @invariant()
    def nothing_is_wrong(self) -> None:
        """The data as a whole are as they must be."""
        assert violations(self.world.dump(), self.model.now) == []

    @invariant()
    def messages_are_received_once_and_in_order(self) -> None:
        """No message is lost but by those who may drop it, none comes twice or too late."""
        for talk in self.model.talks.values():
            assert talk.received == sorted(set(talk.received))
            assert all(number > (talk.turn or 0) for number in talk.buffered)

    @invariant()
    def replies_are_written_once(self) -> None:
        """Every reply of an execution has a text of its own."""
        for talk in self.model.talks.values():
            texts = [line.text for line in talk.lines.values() if line.text.startswith(talk.id)]
            assert len(texts) == len(set(texts))

    @invariant()
    def transcripts_agree(self) -> None:
        """Line by line, and what is known of the session."""
        for session_id in IDS:
            self.world.run(self._compare_session(session_id))

    async def _compare_session(self, session_id: str) -> None:
        try:
            found = await self.store.sessions.read(session_id, limit=2_000)
        except SessionNotFound:
            assert session_id not in self.model.talks
            return
        talk = self.model.talks[session_id]
        run = self.model.current(talk)
        known = found.session
        assert (known.last, known.turn) == (talk.last, talk.turn or 0)
        assert (known.buffered, known.person) == (len(talk.buffered), talk.person)
        assert (known.handover_reason or "") == (talk.why if talk.person else "")
        assert known.execution == (run.id if run else None)
        assert known.execution_state == (run.state if run else None)
        assert to_ms(known.active_at) == talk.active
        lines = {
            entry.number: (
                entry.direction,
                entry.text,
                to_ms(entry.at),
                entry.activity,
                None if entry.execution is None else int(entry.execution.split("~")[1]),
                entry.turn,
                entry.author,
                entry.open,
                entry.delivery,
            )
            for entry in found.entries
        }
        assert lines == {
            number: (
                line.direction,
                line.text,
                line.at,
                line.activity,
                line.execution,
                line.turn,
                line.author,
                line.open,
                self._delivery(talk, number, line.direction),
            )
            for number, line in talk.lines.items()
        }

    def _delivery(self, talk: Any, number: int, direction: str) -> str | None:
        if direction != "out" or not talk.sender:
            return None
        if number in talk.dead:
            return "dead"
        return "sent" if number <= talk.sent and number not in talk.again else "pending"


async def _none(call: Any) -> None:
    await call


async def _person_of(call: Awaitable[Session]) -> str | None:
    """The person who answers the session that a call returns."""
    return (await call).person
