"""How far a flow has come: what is kept while it waits, and what bounds a turn."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec

from holdfast.host.flows.model import Limits
from holdfast.host.flows.runners import NodeFailed
from holdfast.worker.outcomes import GiveUp

#: How large the state of a waiting flow may be: variables, and outputs that are used later.
STATE_BYTES = 262_144
#: How large the output of a node may be.
OUTPUT_BYTES = 262_144


#: How deep lists and maps may be nested: the evaluator of expressions recurses into them.
VALUE_DEPTH = 64


class FlowFailed(GiveUp):
    """A flow ended with a failure that no node handles."""

    def __init__(self, code: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


class Frame(msgspec.Struct):
    """A flow under way: the main one, or a sub-flow."""

    flow: str
    #: The node that runs, or at which the flow waits.
    node: str
    outputs: dict[str, Any] = {}
    prev: Any = None
    #: How often a sub-flow was started by its node.
    attempt: int = 1
    #: When the node that runs this flow gives it up.
    until_ms: int | None = None


class Pending(msgspec.Struct):
    """What a node that waits needs when the message comes."""

    #: The question that is asked again; None for a plain wait.
    question: str | None = None
    invalid: str | None = None
    left: int = 0
    #: How long it still waits, if it came from another revision while it waited.
    wait_ms: int | None = None


class FlowState(msgspec.Struct):
    """What a conversation continues with: its flows, the inner one last, and the variables."""

    frames: list[Frame]
    vars: dict[str, Any]
    #: Counts the steps of all turns, so that idempotency keys never repeat.
    sequence: int = 0
    pending: Pending | None = None


class FlowExpired(Exception):
    """A sub-flow took longer than its node allows."""

    def __init__(self, depth: int) -> None:
        super().__init__("a sub-flow took too long")
        #: Which of the flows under way it is.
        self.depth = depth


def first_end(frames: Sequence[Frame]) -> tuple[int, int] | None:
    """Return when the first of the flows under way must have ended, and which it is."""
    ends = [(frame.until_ms, depth) for depth, frame in enumerate(frames)]
    return min(((until, depth) for until, depth in ends if until is not None), default=None)


def packed(state: FlowState, used: dict[str, set[str] | None]) -> dict[str, Any]:
    """Return the state to continue with: outputs that no expression uses are left out."""
    frames = [
        Frame(
            flow=frame.flow,
            node=frame.node,
            outputs={
                name: value
                for name, value in frame.outputs.items()
                if (names := used.get(frame.flow, set())) is None or name in names
            },
            attempt=frame.attempt,
            until_ms=frame.until_ms,
        )
        for frame in state.frames
    ]
    kept = FlowState(frames, state.vars, state.sequence, state.pending)
    encoded = msgspec.json.encode(kept)
    if len(encoded) > STATE_BYTES:
        message = f"the variables and outputs of a waiting flow are over {STATE_BYTES} bytes"
        raise FlowFailed("state_too_large", message)
    unpacked: dict[str, Any] = msgspec.json.decode(encoded)
    return unpacked


def unpacked(value: Any) -> FlowState:
    """Return the state that a conversation continues with."""
    return msgspec.convert(value, FlowState)


def bounded(value: Any, what: str) -> Any:
    """Return a value that is neither too large nor nested too deep; raises NodeFailed.

    Loops could make values grow without end, such as by `vars.text + vars.text`.
    """
    level = [value]
    for _ in range(VALUE_DEPTH):
        level = [
            item
            for one in level
            if isinstance(one, dict | list)
            for item in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            break
    else:
        message = f"{what} is nested deeper than {VALUE_DEPTH} levels"
        raise NodeFailed("value_too_deep", message)
    if (size := len(msgspec.json.encode(value))) > OUTPUT_BYTES:
        message = f"{what} has {size} bytes, and {OUTPUT_BYTES} are allowed"
        raise NodeFailed("value_too_large", message)
    return value


class Turn:
    """What one turn has used of its bounds. A new message begins a new one."""

    def __init__(self) -> None:
        self.nodes = 0
        self.replies = 0
        self._started = time.monotonic()

    def count_node(self, limits: Limits) -> None:
        """Count a node; raises FlowFailed if there were too many, or they took too long."""
        self.nodes += 1
        if self.nodes > limits.nodes_per_turn:
            message = f"the turn ran more than {limits.nodes_per_turn} nodes"
            raise FlowFailed("too_many_nodes", message)
        if (time.monotonic() - self._started) * 1000 > limits.time_per_turn:
            message = f"the turn took longer than {limits.time_per_turn} ms"
            raise FlowFailed("turn_too_long", message)

    def count_reply(self, limits: Limits) -> None:
        """Count a reply; raises FlowFailed if there were too many."""
        self.replies += 1
        if self.replies > limits.replies_per_turn:
            message = f"the turn emitted more than {limits.replies_per_turn} activities"
            raise FlowFailed("too_many_replies", message)
