"""How the client tells "it did not happen" from "nobody knows": texts seen in the chaos tests."""

from __future__ import annotations

import glide
import pytest

from holdfast.store.valkey.client import _failure

SERVER = "An error was signalled by the server: - "


@pytest.mark.parametrize(
    ("text", "sent", "answered"),
    [
        (SERVER + "Moved: 98 127.0.0.1:39823; ExtensionError", False, True),
        (SERVER + "ClusterDown: The cluster is down", False, True),
        (SERVER + "ResponseError: Function not found", False, True),
        (SERVER + "ResponseError: hf_execution_claim: no such task", True, True),
        ("BrokenPipe: Cluster: Failed to receive command response. RecvError(())", True, False),
    ],
)
def test_an_error_says_whether_the_call_may_have_happened(
    *, text: str, sent: bool, answered: bool
) -> None:
    """What a failover makes of a call is repeated; only an answer of the server is final."""
    failure = _failure(glide.RequestError(text))
    assert (failure.sent, failure.answered) == (sent, answered)
