"""What a conversation can do: say, ask, wait for messages, and everything a task can.

`Chat` is for `async def` conversations; sync_chat.py has that of `def` conversations.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar, overload

import msgspec
from typing_extensions import override

from holdfast.errors import TaskError
from holdfast.model import bounds, checks
from holdfast.model.executions import Claim
from holdfast.model.frames import NewFrame
from holdfast.model.session_keys import SessionRef
from holdfast.model.sessions import Entry, MessageWait, messages_of
from holdfast.model.waitpoints import NewWaitpoint, Signal
from holdfast.worker.asking import Answer, Expected, Options, Unfit, is_silent
from holdfast.worker.context import Context
from holdfast.worker.durations import Duration, optional_ms
from holdfast.worker.messages import Button, Buttons, ChatMessage, merged, opening, reply_payload
from holdfast.worker.outcomes import AttemptLost, InvalidAnswer, WaitTimedOut
from holdfast.worker.session_state import ChatState
from holdfast.worker.streaming import is_inside_step
from holdfast.worker.turns import Turns
from holdfast.worker.waiting import approval_condition, approved, people
from holdfast.worker.writing import Pieces, Writing

T = TypeVar("T")

DEFAULT_RETRIES = 3
_MOST_HISTORY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """How a conversation asks: the question, and what happens without a valid answer."""

    text: str
    buttons: Sequence[Button] = ()
    timeout: Duration | None = None
    retries: int = DEFAULT_RETRIES
    invalid: str | None = None
    #: The JSON Schema of an object that channels show as a form.
    form: Mapping[str, Any] | None = None


class Chat(Context):
    """The running attempt of an `async def` conversation."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._turns = Turns(self, self._engine)
        self._message: ChatMessage | None = None
        self._is_opening_unread = False
        #: The values of the session's state.
        self.state: ChatState = ChatState(self, self._engine)

    # Who talks, and what was said

    @property
    def session(self) -> SessionRef:
        """The session: its id, and whose it is."""
        session = self._claim.session
        if session is None:
            message = f"{self._claim.kind} is a conversation: send it messages, do not submit it"
            raise TaskError(message)
        return session

    @property
    def user(self) -> str:
        """The user's id."""
        return self.session.key.user

    @property
    def message(self) -> ChatMessage:
        """The message that this turn answers: the one that was received last."""
        if self._message is None:
            message = "no message was received since continue_as: use chat.receive()"
            raise TaskError(message)
        return self._message

    @property
    def interrupted(self) -> bool:
        """Whether the turn was ended from outside, such as by a newer message. Stop then."""
        return self.lost

    async def history(self, limit: int = 50) -> list[Entry]:
        """Return the last lines of the transcript, the oldest first; the same in every attempt.

        Notes for operators are left out.
        """
        checks.integer("limit", limit, 1, _MOST_HISTORY)
        sessions, session_id = self._engine.sessions, self.session.id

        async def make() -> bytes:
            await self.flush()
            return b"%d" % (await sessions.get(session_id)).last

        last = int(await self.once(self.number("history"), make))
        page = await sessions.transcript(session_id, after=max(0, last - limit), limit=limit)
        return [
            entry for entry in page.entries if entry.number <= last and entry.direction != "note"
        ]

    async def read_file(self, file: Mapping[str, Any] | str) -> bytes:
        """Return the content of a file that the user sent: one of `message.files`, or its id.

        Read large files in a step that keeps what you need of them. Raises FileNotFound.
        """
        file_id = file if isinstance(file, str) else str(file.get("id"))
        content = self._engine.files.read(self.session.id, file_id)
        return b"".join([part async for part in content])

    # Saying

    async def say(
        self,
        text: str = "",
        *,
        card: Mapping[str, Any] | None = None,
        buttons: Buttons = (),
        data: Any = None,
        form: Mapping[str, Any] | None = None,
        files: Sequence[Mapping[str, Any]] = (),
        markdown: bool = False,
    ) -> None:
        """Say something, once: text, a card, buttons, data for the program that shows it.

        A form is the JSON Schema of an object; what the user fills in is the `data` of a message.
        Files have `url`, `name` and `type`; a file that the user sent can be sent back as it is.
        It is written with the next call that waits or records something, and at the latest when
        the event loop is next idle.
        """
        self.check()
        self._turns.say(
            reply_payload(
                text,
                card=card,
                buttons=buttons,
                data=data,
                form=form,
                files=files,
                markdown=markdown,
            )
        )
        if self._turns.is_full:
            await self._turns.flush()

    def typing(self, *, markdown: bool = False, buttons: Buttons = ()) -> Writing:
        """Say something word by word: `async with chat.typing() as out: await out.write("...")`.

        The block runs again after a crash, and whenever the conversation runs from its journal;
        `stream_reply` records what was written.
        """
        return Writing(self._turns, self.stream, markdown=markdown, buttons=buttons)

    async def stream_reply(
        self,
        name: str,
        fn: Callable[..., Pieces | Awaitable[Pieces]],
        *args: Any,
        markdown: bool = False,
        buttons: Buttons = (),
    ) -> str:
        """Run a function that yields text as a step, and say what it yields word by word.

        Returns the whole text, which is recorded: a later attempt says the same.
        """
        async with self.typing(markdown=markdown, buttons=buttons) as out:
            out.text = await self.step(name, out.write_all, fn, args)
        return out.text

    # Waiting

    async def receive(self, *, timeout: Duration | None = None) -> ChatMessage:
        """Wait for the next message, without a worker's slot, and return it.

        The first call returns the message that started the conversation, unless a question came
        before. Raises WaitTimedOut when the time is over.
        """
        self.check()
        if self._is_opening_unread:
            self._is_opening_unread = False
            return self.message
        return await self._next_message(timeout)

    async def _next_message(self, timeout: Duration | None) -> ChatMessage:
        self._is_opening_unread = False
        received = await self._wait_for_messages("receive", timeout)
        message = merged(messages_of(received))
        if message is None:
            raise WaitTimedOut("no message came in time")
        self._message = message
        return message

    async def handover(
        self, to: str, *, reason: str = "", timeout: Duration | None = None
    ) -> list[ChatMessage]:
        """Let a person answer; returns what the user wrote until the person gave the session back.

        Returns at the latest after `timeout`.
        """
        received = await self._wait_for_messages("handover", timeout, person=to, reason=reason)
        messages = [merged([one]) for one in messages_of(received)]
        found = [message for message in messages if message is not None]
        if found:
            self._message = found[-1]
        return found

    async def _wait_for_messages(
        self,
        kind: str,
        timeout: Duration | None,
        *,
        person: str | None = None,
        reason: str = "",
    ) -> bytes:
        timeout_ms = optional_ms("timeout", timeout)
        step = self.number(kind)

        async def wait() -> bytes:
            # Other steps under way would go on without a lease.
            is_alone = asyncio.current_task() is self._main and self.journal.outstanding == 1
            keeps = self._turns.on_parked is not None and is_alone
            return await self._turns.wait(
                MessageWait(
                    step=step, timeout_ms=timeout_ms, kept=keeps, person=person, reason=reason
                )
            )

        return await self._asked(step, wait, frames_only=True)

    async def recorded(self, step: str, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return the recorded result of a step, or make it by a call that records it."""

        async def hold() -> bytes:
            with self.holding():
                return await make()

        return await self._asked(step, hold)

    async def _asked(
        self, step: str, make: Callable[[], Awaitable[bytes]], *, frames_only: bool = False
    ) -> bytes:
        self.register(step)
        try:
            self.check()
            found = self.journal.find(step)
            if found is None:
                await (super().flush() if frames_only else self.flush())
                found = await make()
            return found
        finally:
            self.journal.settle()

    async def welcomes(self, *, done: bool = False) -> bool:
        """Whether this session is the one that welcomes the user; recorded like a step.

        That is the first session with the user at the endpoint that asks. Say that it is `done`
        when the user was welcomed; from then on the answer is False everywhere.
        """

        async def ask() -> bool:
            return await self._engine.sessions.welcome(self.id, done=done)

        return await self.step(self.number("welcome"), ask)

    # Asking

    @overload
    async def ask(
        self,
        text: str,
        *,
        buttons: Buttons = ...,
        timeout: Duration | None = ...,
        retries: int = ...,
        invalid: str | None = ...,
    ) -> Answer[str]: ...
    @overload
    async def ask(
        self,
        text: str,
        *,
        type: type[T],
        buttons: Buttons = ...,
        timeout: Duration | None = ...,
        retries: int = ...,
        invalid: str | None = ...,
    ) -> Answer[T]: ...
    @overload
    async def ask(
        self,
        text: str,
        *,
        type: Any,
        buttons: Buttons = ...,
        timeout: Duration | None = ...,
        retries: int = ...,
        invalid: str | None = ...,
    ) -> Answer[Any]: ...
    async def ask(
        self,
        text: str,
        *,
        type: Any = str,  # noqa: A002 - as users call it
        buttons: Buttons = (),
        timeout: Duration | None = None,
        retries: int = DEFAULT_RETRIES,
        invalid: str | None = None,
    ) -> Answer[Any]:
        """Ask, and wait for an answer of a type; an invalid one is asked for again.

        Args:
            text: the question.
            type: a type that pydantic can validate from text, or a model for the data of a form.
            buttons: answers to press.
            timeout: how long each answer may take; then WaitTimedOut is raised.
            retries: how often to ask again; then InvalidAnswer is raised.
            invalid: what to say about an invalid answer, before the question.
        """
        options = Options(buttons).buttons if buttons else ()
        expected = Expected(type)
        question = Question(
            text=text,
            buttons=options,
            timeout=timeout,
            retries=retries,
            invalid=invalid,
            form=expected.form,
        )
        value = await self._answered(question, expected.read)
        return Answer(value, self.message)

    async def choose(
        self,
        text: str,
        options: Sequence[str] | Mapping[str, str],
        *,
        timeout: Duration | None = None,
        retries: int = DEFAULT_RETRIES,
        invalid: str | None = None,
    ) -> str:
        """Let the user choose an option, and return its value.

        The user presses a button, or writes the option or its number. Options are values, or
        labels by value.
        """
        offered = Options(options)
        question = Question(
            text=text, buttons=offered.buttons, timeout=timeout, retries=retries, invalid=invalid
        )
        return await self._answered(question, offered.read)

    async def _answered(self, question: Question, read: Callable[[ChatMessage, set[int]], T]) -> T:
        """Ask until a message is an answer."""
        checks.integer("retries", question.retries, 0, bounds.MAX_ATTEMPTS)
        self.check()
        text, asked = question.text, list[str]()
        for _ in range(question.retries + 1):
            payload = reply_payload(text, buttons=question.buttons, form=question.form)
            asked.append(self._turns.say(payload))
            message = await self._next_message(question.timeout)
            while is_silent(message):
                message = await self._next_message(question.timeout)
            try:
                return read(message, self._turns.known_numbers(asked))
            except Unfit as unfit:
                problem = question.invalid or str(unfit)
                text = f"{problem} {question.text}"
        raise InvalidAnswer(f"no valid answer to {question.text!r}: {problem}")

    async def approval(
        self,
        title: str,
        *,
        approvers: Sequence[str] = (),
        count: int = 1,
        timeout: Duration | None = None,
        name: str = "approval",
        on_open: str | None = None,
    ) -> list[Signal]:
        """Wait until people approve, at a signed waitpoint; returns their signals.

        Args:
            title: what they are asked.
            approvers: those who may answer, each with a token of their own; none means anyone
                with the one token, as they state who they are.
            count: how many different people must approve.
            timeout: how long; then WaitTimedOut is raised.
            name: the name of the waitpoint.
            on_open: the URL of a webhook that gets the tokens, to pass them on.

        Raises:
            Denied: one of them denied it, or an operator ended the wait (NotApproved).
        """
        checks.integer("count", count, 1, len(approvers) or bounds.BATCH_ITEMS)
        item = NewWaitpoint(name=name, title=title, on_open=on_open, **people((), approvers))
        came = await self._waiting.until(
            [item],
            approval_condition(name, count),
            step=f"wait:{name}",
            timeout=timeout,
            on_timeout="raise",
            reason="approval",
        )
        return approved(came)

    @override
    async def continue_as(self, state: Any = None) -> NoReturn:
        """Start the conversation again with a state and an empty journal, in one atomic call.

        A long conversation stays cheap this way. Messages that have not been received stay; the
        conversation gets them by `receive`. Nothing after this line runs.
        """
        if self._encode_input is None:
            message = "continue_as needs a conversation"
            raise TaskError(message)
        await self.start_again(self._encode_input((), {"state": state}))

    # For the runner

    @property
    @override
    def _may_buffer(self) -> bool:
        return True

    @override
    async def flush(self) -> None:
        await self._turns.flush()
        await super().flush()

    @override
    async def last_frames(self) -> Sequence[NewFrame]:
        await self._turns.flush()
        return await super().last_frames()

    @override
    def finish(self) -> None:
        self._turns.settle()
        super().finish()

    @override
    def check(self) -> None:
        super().check()
        if self._turns.parked_at is not None:
            raise AttemptLost(f"execution {self.id} waits for a message and holds no lease")

    def register(self, step: str) -> None:
        """Say to the journal that the code asks for a step."""
        if is_inside_step():
            message = (
                f"{step}: a step cannot talk with the user, because a later attempt does not run "
                "it again; return a value from the step, and talk outside"
            )
            raise TaskError(message, step=step)
        self._ask(step)

    def open(self) -> None:
        """Read the message that started the conversation."""
        _ = self.session
        self._message = opening(self._claim.input)
        self._is_opening_unread = self._message is not None

    @property
    def parked_at(self) -> str | None:
        """The step at which the coroutine is parked."""
        return self._turns.parked_at

    def keep(self, body: asyncio.Task[Any], on_parked: Callable[[], None]) -> None:
        """Park the coroutine, which runs in this task, when it waits for a message."""
        self._main = body
        self._turns.on_parked = on_parked

    def adopt(self, claim: Claim) -> None:
        """Continue under another lease."""
        self._claim = claim
        self._claimed_on_clock = time.monotonic()

    def resume(self) -> None:
        """Let the parked coroutine continue with what the claim brought."""
        self._turns.resume(self._claim.steps[self._turns.parked_at or ""])

    def drop(self) -> None:
        """End the parked coroutine."""
        self._turns.drop()


def state_input(state: bytes) -> bytes:
    """Return the input of a conversation that starts again with a state."""
    return msgspec.json.encode({"state": msgspec.Raw(state)})
