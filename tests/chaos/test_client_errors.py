"""How the client tells "it did not happen" from "nobody knows": texts seen in the chaos tests."""

from __future__ import annotations

import pytest

from holdfast.store.valkey import failures


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("MOVED 98 127.0.0.1:39823", False),
        ("ASK 98 127.0.0.1:39823", False),
        ("CLUSTERDOWN The cluster is down", False),
        ("LOADING Valkey is loading the dataset in memory", False),
        ("READONLY You can't write against a read only replica.", False),
        ("OOM command not allowed when used memory > 'maxmemory'.", False),
        ("ERR Function not found", False),
        ("ERR hf_execution_claim_many: no such task", True),
        ("ERR user_function:12: this text has READONLY inside", True),
    ],
)
def test_an_error_says_whether_the_call_may_have_happened(*, text: str, sent: bool) -> None:
    """What a failover makes of a call is repeated; only an answer of the server is final."""
    failure = failures.answered(text)
    assert (failure.sent, failure.answered) == (sent, True)


def test_a_call_without_an_answer_may_have_happened_if_it_was_sent() -> None:
    """A lost connection leaves that open; a server that cannot be reached does not."""
    assert failures.unanswered("the connection was lost").sent
    assert not failures.not_sent("no server answered").sent
