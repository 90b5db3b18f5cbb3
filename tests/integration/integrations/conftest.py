"""What tests of integrations share."""

from __future__ import annotations

import os

import django
import pytest

from holdfast.testing.servers import TestServer

# Models can be imported only after this.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.acceptance.apps.bakery.settings")
django.setup()


@pytest.fixture
def url(single_server: TestServer, request: pytest.FixtureRequest) -> str:
    """The URL of an empty store."""
    prefix = f"i{abs(hash(request.node.nodeid))}"
    return f"valkey://127.0.0.1:{single_server.port}?prefix={prefix}"
