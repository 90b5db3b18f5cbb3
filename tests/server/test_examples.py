"""The OpenAPI document has an example of every answer in JSON: one that a server gave."""

from __future__ import annotations

import pytest

from holdfast.server.http import openapi
from holdfast.server.routes import TABLES
from tests.server import record_examples
from tests.server.answers.recipes import ROUTES
from tests.server.record_examples import WITH_REPLY, fits


@pytest.mark.parametrize("name", WITH_REPLY)
def test_the_example_of_a_reply_is_one(name: str) -> None:
    """It has the fields that the reply has, and no others."""
    assert fits(name), record_examples.__doc__


def test_the_document_shows_them() -> None:
    """Beside the schema."""
    document = openapi.document(TABLES)
    for name in WITH_REPLY:
        method, path = name.split(" ")
        answers = document["paths"][path][method.lower()]["responses"]
        content = answers[str(ROUTES[name].statuses[0])]["content"]
        assert content["application/json"]["example"] == openapi.example_of(ROUTES[name]), name
