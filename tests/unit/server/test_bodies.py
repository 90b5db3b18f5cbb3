"""Bodies of submissions."""

from __future__ import annotations

import msgspec
import pytest

from holdfast.errors import InvalidInput, TooLarge
from holdfast.model import bounds
from holdfast.model.executions import OPTIONS, NewExecution
from holdfast.server.views.bodies import ExecutionBody

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def _body(**fields: object) -> ExecutionBody:
    return msgspec.convert({"kind": "mail", **fields}, ExecutionBody)


@pytest.mark.parametrize("trace", [None, TRACE])
def test_a_simple_body_becomes_what_a_full_one_does(trace: str | None) -> None:
    """The short way leaves every option to the declaration, as the long way does."""
    body = msgspec.json.decode(b'{"kind": "mail", "input": {"to": 1}}', type=ExecutionBody)
    expected = NewExecution(
        kind="mail", input=b'{"to": 1}', tenant="acme", traceparent=trace, unset=OPTIONS
    )
    assert body.item("acme", trace) == expected
    assert body.item("acme", trace) == body.item("acme", trace)


def test_what_a_body_names_is_kept() -> None:
    """A body with one more field takes the long way."""
    item = _body(lane="slow").item("acme")
    assert (item.lane, item.tenant, item.input) == ("slow", "acme", b"null")
    assert item.unset == OPTIONS - {"lane"}
    assert _body(check=False).item("acme").check is False
    assert _body(id="mail-1").item("acme").id == "mail-1"


def test_inputs_are_checked_on_both_ways() -> None:
    """Kinds and tenants are remembered, inputs are not."""
    large = msgspec.Raw(b'"' + b"x" * bounds.PAYLOAD_BYTES + b'"')
    for fields in ({}, {"lane": "slow"}):
        with pytest.raises((InvalidInput, TooLarge)):
            ExecutionBody(kind="mail", input=large, **fields).item("acme")  # type: ignore[arg-type]
