# ruff: noqa: RUF009 - `declared` makes a field
"""Flows as values: the types of flows, the kinds of nodes, and a dataclass for each kind.

The enums and dataclasses here are the only list there is. The parser, the JSON Schema, lint and
the interpreter all read them, and a test compares each with the enums.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from holdfast.host.flows.expressions import Expression
from holdfast.host.flows.fields import Of, Ref, declared
from holdfast.host.flows.templates import Text, Value
from holdfast.host.yaml_source import Key, Node

ID = re.compile(r"[a-z][a-z0-9_.-]*")
#: Node ids are parts of paths in expressions.
NODE_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
ID_CHARS = 128
END = "end"
DEFAULT_ITEM = "item"
LLM_ROUNDS = 8


class FlowType(StrEnum):
    """What starts a flow."""

    MESSAGING = "messaging"
    EVENT = "event"
    TIMER = "timer"
    HTTP = "http"
    JOB = "job"


#: Types whose flows have a conversation, so that they can wait for its next message.
CONVERSING = frozenset({FlowType.MESSAGING, FlowType.EVENT})


class NodeKind(StrEnum):
    """What a node does."""

    EMIT = "emit"
    WAIT = "wait"
    ASK = "ask"
    CALL = "call"
    SET = "set"
    GOTO = "goto"
    FLOW = "flow"
    PARALLEL = "parallel"
    EACH = "each"
    LLM = "llm"
    HTTP = "http"
    PROVIDER = "provider"
    APPROVAL = "approval"
    END = "end"


class Join(StrEnum):
    """Which branches must succeed."""

    ALL = "all"
    ANY = "any"
    QUORUM = "quorum"


#: Kinds that take a message or a person's answer, and so begin a turn.
WAITING = frozenset({NodeKind.WAIT, NodeKind.ASK, NodeKind.APPROVAL})


@dataclass(frozen=True, slots=True, kw_only=True)
class Emit:
    """Reply activities of this turn."""

    kind = NodeKind.EMIT
    #: One value for each activity.
    activities: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Park; the next message is the input of what follows."""

    kind = NodeKind.WAIT
    reason: Text | None = declared(Of.TEXT, "Why it waits, for people who look.", type="string")
    timeout: int | None = declared(Of.DURATION, "How long it waits; without it, for ever.")
    on_timeout: Ref | None = declared(Of.NODE, "The node that follows when no message came.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Emit a question, wait, validate the answer, and ask again if it is invalid."""

    kind = NodeKind.ASK
    text: Text = declared(Of.TEXT, "The question.", required=True, type="string")
    answer: Any = declared(Of.SCHEMA, "The JSON Schema of the answer.", required=True)
    retries: int = declared(
        Of.INTEGER, "How often it asks again; then the node fails.", default=3, low=0, high=100
    )
    invalid: Text | None = declared(Of.TEXT, "What it says about an invalid answer.", type="string")
    timeout: int | None = declared(Of.DURATION, "How long each answer may take.")
    on_timeout: Ref | None = declared(Of.NODE, "The node that follows when no answer came.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Call an operation of a component; its JSON is the output."""

    kind = NodeKind.CALL
    component: Ref = declared(Of.COMPONENT, "The component.", required=True)
    operation: Ref = declared(Of.OPERATION, "The operation.", required=True)
    input: Value | None = declared(Of.VALUE, "What the operation gets.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetVars:
    """Set session variables."""

    kind = NodeKind.SET
    #: Values by variable.
    values: dict[str, Value] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goto:
    """Leave this flow for another of the revision."""

    kind = NodeKind.GOTO
    flow: Ref = declared(Of.FLOW, "The flow that follows.", required=True)
    node: Ref | None = declared(Of.WORD, "The node where it starts; by default its start.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubFlow:
    """Run another flow; its result is the output, its failure is this node's failure."""

    kind = NodeKind.FLOW
    flow: Ref = declared(Of.FLOW, "The flow to run.", required=True)
    input: Value | None = declared(Of.VALUE, "The input of the flow.")


Work: TypeAlias = Call | SubFlow


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel:
    """Run branches at the same time."""

    kind = NodeKind.PARALLEL
    branches: dict[str, Work] = declared(
        Of.BRANCHES, "A `call` or a `flow` by name.", required=True
    )
    join: Join = declared(
        Of.WORD,
        "Which branches must succeed.",
        default=Join.ALL,
        choices=tuple(join.value for join in Join),
    )
    k: int | None = declared(Of.INTEGER, "How many branches are a quorum.", low=1, high=64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Each:
    """Run a call or a flow for each item of a list; the outputs are a list."""

    kind = NodeKind.EACH
    items: Value = declared(Of.VALUE, "The list.", required=True, type="list")
    as_: str = declared(
        Of.WORD, "The name of an item in expressions of `do`.", default=DEFAULT_ITEM
    )
    do: Work = declared(Of.WORK, "What to do with an item: a `call` or a `flow`.", required=True)
    limit: int = declared(
        Of.INTEGER, "How many items there may be; more make the node fail.", default=100, low=1,
        high=10_000,
    )  # fmt: skip
    concurrency: int = declared(
        Of.INTEGER, "How many items run at the same time.", default=4, low=1, high=64
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Llm:
    """Ask a language model; the output is {text, usage, calls}."""

    kind = NodeKind.LLM
    model: Ref = declared(Of.MODEL, "The model, as pack.yaml names it.", required=True)
    system: Text | None = declared(Of.TEXT, "The system prompt.", type="string")
    messages: Value | None = declared(
        Of.VALUE, "The messages; by default the text of the input.", type="list"
    )
    tools: tuple[Ref, ...] = declared(
        Of.TOOLS, "Operations that the model may call: `component.operation`.", default=()
    )
    max_tokens: int = declared(
        Of.INTEGER, "How long an answer may be.", required=True, low=1, high=1_000_000
    )
    budget: Text | None = declared(Of.TEXT, "The budget that pays.", type="string")
    rounds: int = declared(
        Of.INTEGER,
        "How often the model may call tools before it answers.",
        default=LLM_ROUNDS,
        low=0,
        high=32,
    )
    reply: bool = declared(
        Of.FLAG, "Whether the answer is a reply, shown while it is written.", default=False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Http:
    """Call a web server that the pack allows; the output is {status, headers, body}."""

    kind = NodeKind.HTTP
    method: str = declared(
        Of.WORD,
        "The method.",
        required=True,
        choices=("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"),
    )
    url: Text = declared(Of.TEXT, "The URL.", required=True, type="string")
    headers: dict[str, Any] = declared(Of.HEADERS, "Headers: texts, or `{secret: NAME}`.")
    json: Value | None = declared(Of.VALUE, "The body, sent as JSON.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Call a declared operation of a provider."""

    kind = NodeKind.PROVIDER
    type: Ref = declared(Of.PROVIDER, "The type of the provider.", required=True)
    operation: Ref = declared(Of.OPERATION, "The operation.", required=True)
    input: Value | None = declared(Of.VALUE, "What the operation gets.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """Wait at a signed waitpoint until a person decides; the output is the decision."""

    kind = NodeKind.APPROVAL
    title: Text = declared(Of.TEXT, "What people are asked.", required=True, type="string")
    schema: Any = declared(Of.SCHEMA, "The JSON Schema of what comes with a decision.")
    approvers: tuple[Text, ...] = declared(
        Of.TEXTS,
        "Who may decide, each with a link of their own; without it, everybody with the link.",
        default=(),
    )
    need: int = declared(
        Of.INTEGER, "How many different people must approve.", default=1, low=1, high=100
    )
    on_open: Text | None = declared(
        Of.TEXT, "The URL of a webhook that gets the links, to pass them on.", type="string"
    )
    timeout: int | None = declared(Of.DURATION, "How long it waits.")
    on_timeout: Ref | None = declared(Of.NODE, "The node that follows when nobody decided.")


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """End the flow with a result."""

    kind = NodeKind.END
    result: Value | None = declared(Of.VALUE, "The result.")


Action: TypeAlias = (
    Emit | Wait | Ask | Call | SetVars | Goto | SubFlow | Parallel | Each | Llm | Http | Provider
    | Approval | End
)  # fmt: skip

ACTIONS: dict[NodeKind, type] = {
    cls.kind: cls
    for cls in (
        Emit, Wait, Ask, Call, SetVars, Goto, SubFlow, Parallel, Each, Llm, Http, Provider,
        Approval, End,
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often and when a node that failed runs again."""

    max_attempts: int = declared(
        Of.INTEGER, "How often it runs, the first time included.", required=True, low=1, high=100
    )
    initial_ms: int = declared(
        Of.INTEGER, "The delay before the second attempt.", default=200, low=0, high=86_400_000
    )
    max_ms: int = declared(Of.INTEGER, "The longest delay.", default=60_000, low=0, high=86_400_000)
    factor: int = declared(
        Of.INTEGER, "By what each delay is longer than the last.", default=2, low=1, high=10
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where a flow continues: at a node or `end`, always or under a condition."""

    to: Ref
    when: Condition | None = None
    node: Node = dataclasses.field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression that is true or false, and where it is."""

    expression: Expression
    node: Node = dataclasses.field(repr=False, compare=False)


#: Keys of a node beside its kind. `set` is one if the node has another kind.
OUT, WHEN, RETRY, TIMEOUT, ON_ERROR, SET = "out", "when", "retry", "timeout", "on_error", "set"
SIBLINGS = (OUT, WHEN, RETRY, TIMEOUT, ON_ERROR, SET)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowNode:
    """A node of a flow."""

    id: str
    action: Action
    out: tuple[Route, ...] = ()
    when: Condition | None = None
    retry: Retry | None = None
    timeout: int | None = None
    on_error: Ref | None = None
    set: dict[str, Value] = dataclasses.field(default_factory=dict)
    key: Key = dataclasses.field(repr=False, compare=False)
    node: Node = dataclasses.field(repr=False, compare=False)

    @property
    def kind(self) -> NodeKind:
        """What it does."""
        return self.action.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Var:
    """A session variable."""

    default: Any = declared(Of.VALUE, "The value until a flow sets another.")
    schema: Any = declared(Of.SCHEMA, "The JSON Schema of its values.")
    has_default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one turn."""

    nodes_per_turn: int = declared(
        Of.INTEGER, "How many nodes a turn may run.", default=200, low=1, high=10_000
    )
    replies_per_turn: int = declared(
        Of.INTEGER, "How many activities a turn may emit.", default=50, low=1, high=1_000
    )
    time_per_turn: int = declared(
        Of.DURATION, "How long a turn may run.", default=300_000, low=1, high=86_400_000
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A flow."""

    id: str
    type: FlowType
    nodes: dict[str, FlowNode]
    start: str
    internal: bool = False
    title: str = ""
    vars: dict[str, Var] = dataclasses.field(default_factory=dict)
    input: Any = None
    limits: Limits = dataclasses.field(default_factory=Limits)
    file: str = ""
    node: Node = dataclasses.field(repr=False, compare=False)
    start_node: Node | None = dataclasses.field(default=None, repr=False, compare=False)


#: Keys of a flow file.
FLOW_KEYS = ("id", "type", "title", "description", "internal", "start", "input", "vars", "limits",
             "nodes")  # fmt: skip
