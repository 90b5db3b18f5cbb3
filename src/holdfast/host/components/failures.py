"""Why calls of components fail: a stable code for each reason."""

from __future__ import annotations

import re
from typing import Any

from holdfast.host.flows.runners import NodeFailed

#: What each code means; docs/components.md has the same sentences.
CODES: dict[str, str] = {
    "unknown_component": "the pack declares no component with this name",
    "unknown_operation": "the component declares no operation with this name",
    "component_invalid_input": "the input is not JSON, or larger than 1 MiB",
    "component_busy": "the tenant has too many calls under way, and none ended in time",
    "component_timeout": "the call took longer than its time limit",
    "component_out_of_fuel": "the call executed more instructions than `fuel` permits",
    "component_memory": "the call needed more memory than its limit",
    "component_stack_overflow": "the call nested functions too deep",
    "component_trapped": "the code did something impossible, or its process died",
    "component_failed": "the component ended with a failure and gave no code of its own",
    "component_denied": (
        "the component failed after the host refused a file, a socket, a secret or a web server, "
        "or its output contains a secret"
    ),
    "component_output_too_large": "the output is larger than `output_kb`",
    "component_invalid_output": "the output is not JSON",
    "component_unreachable": "the server of an `http` component did not answer as it should",
}
#: Failures that a later attempt may not have.
_PASSING = frozenset({"component_busy", "component_timeout"})
_MESSAGE_CHARS = 500
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,99}")


def failed(code: str, message: str | None = None, *, details: Any = None) -> NodeFailed:
    """Return the failure of a call."""
    text = CODES[code] if message is None else message
    return NodeFailed(code, text[:_MESSAGE_CHARS], retryable=code in _PASSING, details=details)


def reported(error: Any) -> NodeFailed:
    """Return the failure that a component reports: `{code, message, retryable}`, or a text."""
    if isinstance(error, str):
        return failed("component_failed", error or None)
    if not isinstance(error, dict):
        return failed("component_failed")
    code, message = error.get("code"), error.get("message")
    after = error.get("retry_after_ms")
    return NodeFailed(
        code if isinstance(code, str) and _CODE.fullmatch(code) else "component_failed",
        message[:_MESSAGE_CHARS] if isinstance(message, str) else CODES["component_failed"],
        retryable=error.get("retryable") is True,
        retry_after_ms=after if isinstance(after, int) and 0 <= after <= 3_600_000 else 0,  # noqa: PLR2004
    )
