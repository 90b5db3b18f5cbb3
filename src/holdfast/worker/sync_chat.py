"""What a `def` conversation can do, in its thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar, overload

from typing_extensions import override

from holdfast.model.session_keys import SessionRef
from holdfast.model.sessions import Entry
from holdfast.model.waitpoints import Signal
from holdfast.worker.asking import Answer
from holdfast.worker.chat import DEFAULT_RETRIES, Chat
from holdfast.worker.durations import Duration
from holdfast.worker.messages import Buttons, ChatMessage
from holdfast.worker.pools import ThreadPool
from holdfast.worker.session_state import SyncChatState
from holdfast.worker.sync_context import SyncContext
from holdfast.worker.writing import Writing

T = TypeVar("T")


class SyncWriting:
    """A reply in the making, in a thread."""

    def __init__(self, writing: Writing, write: Callable[[str], None]) -> None:
        self._writing = writing
        #: Append to the reply.
        self.write: Callable[[str], None] = write

    @property
    def text(self) -> str:
        """The text so far."""
        return self._writing.text

    @text.setter
    def text(self, text: str) -> None:
        self._writing.text = text

    def write_all(self, fn: Callable[..., Iterable[str]], args: tuple[Any, ...]) -> str:
        """Write what a function yields; returns all of it."""
        self.text = ""
        for piece in fn(*args):
            self.write(piece)
        return self.text


class SyncChat(SyncContext):
    """The running attempt of a `def` conversation, in a thread: it blocks where Chat awaits.

    A thread cannot be kept while it waits: the conversation runs again from its journal when the
    next message comes.
    """

    def __init__(self, chat: Chat, loop: asyncio.AbstractEventLoop, threads: ThreadPool) -> None:
        super().__init__(chat, loop, threads)
        self._chat = chat
        #: The values of the session's state.
        self.state: SyncChatState = SyncChatState(chat.state, self._wait)

    @property
    def session(self) -> SessionRef:
        """The session: its id, and whose it is."""
        return self._chat.session

    @property
    def user(self) -> str:
        """The user's id."""
        return self._chat.user

    @property
    def message(self) -> ChatMessage:
        """The message that this turn answers: the one that was received last."""
        return self._chat.message

    @property
    def interrupted(self) -> bool:
        """Whether the turn was ended from outside, such as by a newer message. Stop then."""
        return self._chat.interrupted

    def history(self, limit: int = 50) -> list[Entry]:
        """Return the last lines of the transcript, the oldest first; the same in every attempt."""
        return self._wait(self._chat.history(limit))

    def read_file(self, file: Mapping[str, Any] | str) -> bytes:
        """Return the content of a file that the user sent: one of `message.files`, or its id."""
        return self._wait(self._chat.read_file(file))

    def say(
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
        """Say something, once: text, a card, buttons, data for the program that shows it."""
        self._wait(
            self._chat.say(
                text,
                card=card,
                buttons=buttons,
                data=data,
                form=form,
                files=files,
                markdown=markdown,
            )
        )

    @contextmanager
    def typing(self, *, markdown: bool = False, buttons: Buttons = ()) -> Iterator[SyncWriting]:
        """Say something word by word: `with chat.typing() as out: out.write("...")`."""
        writing = self._wait(self._entered(markdown=markdown, buttons=buttons))
        try:
            yield SyncWriting(writing, lambda text: self._wait(writing.write(text)))
        except BaseException as error:
            self._wait(writing.__aexit__(type(error), error, error.__traceback__))
            raise
        self._wait(writing.__aexit__(None, None, None))

    async def _entered(self, *, markdown: bool, buttons: Buttons) -> Writing:
        return await self._chat.typing(markdown=markdown, buttons=buttons).__aenter__()

    def stream_reply(
        self,
        name: str,
        fn: Callable[..., Iterable[str]],
        *args: Any,
        markdown: bool = False,
        buttons: Buttons = (),
    ) -> str:
        """Run a function that yields text as a step, and say what it yields word by word.

        Returns the whole text, which is recorded: a later attempt says the same.
        """
        with self.typing(markdown=markdown, buttons=buttons) as out:
            out.text = self.step(name, out.write_all, fn, args)
        return out.text

    def receive(self, *, timeout: Duration | None = None) -> ChatMessage:
        """Wait for the next message, without a worker's slot, and return it.

        The first call returns the message that started the conversation, unless a question came
        before. Raises WaitTimedOut when the time is over.
        """
        return self._wait(self._chat.receive(timeout=timeout))

    @overload
    def ask(
        self,
        text: str,
        *,
        buttons: Buttons = ...,
        timeout: Duration | None = ...,
        retries: int = ...,
        invalid: str | None = ...,
    ) -> Answer[str]: ...
    @overload
    def ask(
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
    def ask(
        self,
        text: str,
        *,
        type: Any,
        buttons: Buttons = ...,
        timeout: Duration | None = ...,
        retries: int = ...,
        invalid: str | None = ...,
    ) -> Answer[Any]: ...
    def ask(
        self,
        text: str,
        *,
        type: Any = str,  # noqa: A002 - as users call it
        buttons: Buttons = (),
        timeout: Duration | None = None,
        retries: int = DEFAULT_RETRIES,
        invalid: str | None = None,
    ) -> Answer[Any]:
        """Ask, and wait for an answer of a type; an invalid one is asked for again."""
        return self._wait(
            self._chat.ask(
                text,
                type=type,
                buttons=buttons,
                timeout=timeout,
                retries=retries,
                invalid=invalid,
            )
        )

    def choose(
        self,
        text: str,
        options: Sequence[str] | Mapping[str, str],
        *,
        timeout: Duration | None = None,
        retries: int = DEFAULT_RETRIES,
        invalid: str | None = None,
    ) -> str:
        """Let the user choose an option, and return its value."""
        return self._wait(
            self._chat.choose(text, options, timeout=timeout, retries=retries, invalid=invalid)
        )

    def approval(
        self,
        title: str,
        *,
        approvers: Sequence[str] = (),
        count: int = 1,
        timeout: Duration | None = None,
        name: str = "approval",
        on_open: str | None = None,
    ) -> list[Signal]:
        """Wait until people approve, at a signed waitpoint; raises Denied if one denies it."""
        return self._wait(
            self._chat.approval(
                title,
                approvers=approvers,
                count=count,
                timeout=timeout,
                name=name,
                on_open=on_open,
            )
        )

    def handover(
        self, to: str, *, reason: str = "", timeout: Duration | None = None
    ) -> list[ChatMessage]:
        """Let a person answer; returns what the user wrote until the person gave it back."""
        return self._wait(self._chat.handover(to, reason=reason, timeout=timeout))

    def welcomes(self, *, done: bool = False) -> bool:
        """Whether this session is the one that welcomes the user; recorded like a step."""
        return self._wait(self._chat.welcomes(done=done))

    @override
    def continue_as(self, state: Any = None) -> NoReturn:
        """Start the conversation again with a state and an empty journal, in one atomic call."""
        self._wait(self._chat.continue_as(state))
        raise AssertionError
