"""Conversations: functions that talk with one user each, and the senders of their replies."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, TypeVar, overload

import msgspec
from typing_extensions import override

from holdfast.errors import InvalidInput, TaskError
from holdfast.model import bounds, checks
from holdfast.model.ids import new_id
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity, Busy, Send, TurnAnswer
from holdfast.worker.chat import Chat, state_input
from holdfast.worker.durations import Duration, to_ms
from holdfast.worker.sync_chat import SyncChat
from holdfast.worker.task import Task, TaskOptions

if TYPE_CHECKING:
    from holdfast.worker.app import App

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")

S = TypeVar("S", bound=Send)

STATE = "state"


_NO_STATE = msgspec.Raw(b"")


class _Input(msgspec.Struct):
    state: msgspec.Raw = _NO_STATE


class Conversation(Task[P, R, C]):
    """A function that talks with a user, one execution at a time for each session."""

    def __init__(
        self,
        app: App,
        fn: Callable[..., C],
        *,
        name: str,
        busy: str = Busy.QUEUE.value,
        apology: str | None = None,
        options: TaskOptions | None = None,
    ) -> None:
        super().__init__(app, fn, name=name, options=options)
        self.busy: Busy = Busy(checks.one_of("busy", busy, [one.value for one in Busy]))
        if apology is not None:
            checks.text("apology", apology, bounds.REASON_CHARS, empty=False)
        self.apology = apology
        self._check_parameters()

    def _check_parameters(self) -> None:
        about = f"conversation {self.name}"
        signature = self.signature
        hint = inspect.get_annotations(self.fn, eval_str=True).get(signature.context or "")
        wanted = Chat if self.is_async else SyncChat
        if not (isinstance(hint, type) and issubclass(hint, wanted)):
            message = f"{about}: its first parameter must be a {wanted.__name__}"
            raise InvalidInput(message, field="chat")
        for name, parameter in signature.shape.parameters.items():
            if name != STATE or parameter.default is inspect.Parameter.empty:
                message = (
                    f"{about}: parameter {name}: besides the chat and resources, a conversation "
                    "takes only `state`, which needs a default"
                )
                raise InvalidInput(message, field=name)

    @override
    def arguments(self, payload: bytes) -> dict[str, Any]:
        state = bytes(msgspec.json.decode(payload, type=_Input).state)
        if not state or STATE not in self.signature.arguments:
            return {}
        return self.signature.decode(b'{"state":%b}' % state)

    @override
    def encode_input(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        state = kwargs.get(STATE)
        if STATE not in self.signature.arguments:
            if state is not None:
                message = f"conversation {self.name} has no parameter `state` to continue with"
                raise InvalidInput(message, field=STATE)
            return b"{}"
        return state_input(self.signature.arguments[STATE].encode(state))

    @override
    def describe(self) -> dict[str, Any]:
        described = super().describe()
        states = described["input"].get("properties", {}).get(STATE, {})
        described["input"] = {
            **{key: value for key, value in described["input"].items() if key == "$defs"},
            "type": "object",
            "properties": {"messages": {"type": "array"}, STATE: states},
        }
        described["conversation"] = {"busy": self.busy.value, "apology": self.apology}
        return described

    @override
    async def submit(self, *args: Any, **kwargs: Any) -> NoReturn:
        message = f"{self.name} is a conversation: use `send`, or deliver messages to it"
        raise TaskError(message, name=self.name)

    async def send(
        self,
        text: str = "",
        *,
        user: str,
        conversation: str = "main",
        payload: dict[str, Any] | None = None,
        tenant: str = DEFAULT_TENANT,
        endpoint: str | None = None,
        id: str | None = None,
        sender: str | None = None,
        wait: Duration = 10,
    ) -> TurnAnswer:
        """Send a message as a user, and return the replies of its turn.

        Args:
            text: what the user writes.
            user: the user's id.
            conversation: tells several conversations with one user apart.
            payload: further parts of the message, such as `{"choice": "yes"}`.
            tenant: whose session it is.
            endpoint: where the message arrives; by default the name of the conversation.
            id: the message's id; sent again, it is delivered once.
            sender: the sender that delivers the replies.
            wait: how long to wait for the end of the turn.
        """
        parts = dict(payload or {})
        if text:
            parts["text"] = text
        key = SessionKey(
            conversation=conversation, user=user, endpoint=endpoint or self.name, tenant=tenant
        )
        activity = Activity(key=key, payload=msgspec.json.encode(parts), id=id or new_id())
        return await self.app.engine.sessions.send(
            self.name, activity, sender=sender, wait_ms=to_ms("wait", wait)
        )


class ConversationDecorator:
    """Makes conversations of functions, with options."""

    def __init__(
        self, app: App, name: str | None, busy: str, apology: str | None, options: TaskOptions
    ) -> None:
        self._app = app
        self._name = name
        self._busy = busy
        self._apology = apology
        self._options = options

    @overload
    def __call__(
        self, fn: Callable[Concatenate[Chat, P], Coroutine[Any, Any, R]]
    ) -> Conversation[P, R, Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(self, fn: Callable[Concatenate[SyncChat, P], R]) -> Conversation[P, R, R]: ...
    def __call__(self, fn: Callable[..., Any]) -> Conversation[Any, Any, Any]:
        """Make a conversation of a function."""
        made: Conversation[Any, Any, Any] = Conversation(
            self._app,
            fn,
            name=self._name or fn.__name__,
            busy=self._busy,
            apology=self._apology,
            options=self._options,
        )
        self._app.add(made)
        return made
