"""Errors over HTTP: RFC 9457 problem details, by the class of the error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

from holdfast import errors
from holdfast.errors import HoldfastError
from holdfast.server.auth import shown
from holdfast.server.views.times import rfc3339
from holdfast.server.views.veil import CLEAR, Veil

MEDIA_TYPE = "application/problem+json"


#: The first matching class decides.
_STATUSES: tuple[tuple[type[HoldfastError], int], ...] = (
    (errors.TooLarge, 413),
    (errors.Malformed, 400),
    (errors.MethodNotAllowed, 405),
    (errors.InvalidInput, 422),
    (errors.NotFound, 404),
    (errors.Unauthorized, 401),
    (errors.Forbidden, 403),
    (errors.Conflict, 409),
    (errors.LeaseLost, 409),
    (errors.ExecutionFailed, 409),
    (errors.StoreFull, 503),
    (errors.Refused, 429),
    (errors.NotDeliverable, 503),
    (errors.StoreUnavailable, 503),
    (errors.OutcomeUnknown, 503),
    (errors.StoreIncompatible, 503),
    (errors.BackendFailed, 503),
    (errors.BackendUnfit, 503),
    (errors.InvalidRecord, 503),
    (errors.ProviderFailed, 502),
)
_RETRYABLE = (
    errors.Refused,
    errors.NotDeliverable,
    errors.StoreUnavailable,
    errors.OutcomeUnknown,
    errors.BackendFailed,
)
_INTERNAL = 500
#: Members of a problem that context must not replace.
_MEMBERS = frozenset({"type", "title", "status", "detail", "code", "retryable"})


def status_of(error: type[HoldfastError]) -> int:
    """Return the status of an error."""
    return next((status for kind, status in _STATUSES if issubclass(error, kind)), _INTERNAL)


def is_retryable(error: type[HoldfastError]) -> bool:
    """Whether the same call may succeed later."""
    return issubclass(error, _RETRYABLE)


def raise_if_all_will_pass(answers: Sequence[object]) -> None:
    """Raise one problem for a batch if every item failed with an error that may pass later."""
    refused = [answer for answer in answers if isinstance(answer, HoldfastError)]
    will_pass = [answer for answer in refused if is_retryable(type(answer))]
    if will_pass and len(will_pass) == len(answers):
        raise will_pass[0]


def document(error: HoldfastError, status: int | None = None) -> dict[str, Any]:
    """Return the problem details of an error."""
    status = status or status_of(type(error))
    problem = {
        "type": f"urn:holdfast:problem:{error.code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": shown.text(error.message),
        "code": error.code,
        "retryable": is_retryable(type(error)),
    }
    facts = shown.own_ids(error.context)
    context = {k: _shown(v) for k, v in facts.items() if k not in _MEMBERS}
    return problem | context


def response(error: HoldfastError, status: int | None = None, veil: Veil = CLEAR) -> Response:
    """Return the answer to a call that failed, as its caller sees it."""
    problem = veil.over(document(error, status))
    headers = {}
    if problem["status"] == 401:  # noqa: PLR2004 - that is the status
        headers["WWW-Authenticate"] = "Bearer"
    if problem["retryable"]:
        wait_ms = error.context.get("retry_after_ms", 1_000)
        headers["Retry-After"] = str(-(-int(wait_ms) // 1_000))
    body = msgspec.json.encode(problem)
    return Response(body, problem["status"], headers, media_type=MEDIA_TYPE)


def _shown(value: Any) -> Any:
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, Mapping):
        return {str(key): _shown(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)
