"""The deployment with the most specific route answers."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.errors import AmbiguousDeployment, DeploymentNotFound
from holdfast.model.deployments import Deployment, Split
from holdfast.routing.hosts import choose


def deployment(
    name: str, hosts: tuple[str, ...] = (), prefixes: tuple[str, ...] = ()
) -> Deployment:
    """A deployment with routes."""
    return Deployment(
        env="local",
        id=name,
        tenant="default",
        pack="shop",
        app=None,
        hosts=hosts,
        path_prefixes=prefixes,
        created_at=datetime.now(UTC),
        change=1,
        split=Split(generation=0, entries=()),
        past=(),
        revisions=(),
    )


ANY = deployment("any")
HOST = deployment("host", ("shop.example",))
CHAT = deployment("chat", (), ("/chat",))
DEEP = deployment("deep", ("shop.example",), ("/chat/vip", "/other"))


@pytest.mark.parametrize(
    ("host", "path", "expected"),
    [
        ("shop.example", "/x", "host"),
        ("SHOP.example", "/chat/vip/1", "deep"),
        ("shop.example", "/chat/vipx", "host"),
        ("else.example", "/chat", "chat"),
        ("else.example", "/chatter", "any"),
    ],
)
def test_host_then_longest_prefix(host: str, path: str, expected: str) -> None:
    assert choose([ANY, HOST, CHAT, DEEP], host, path).id == expected


def test_nothing_is_guessed() -> None:
    with pytest.raises(AmbiguousDeployment, match="any, twin"):
        choose([ANY, deployment("twin")], "a", "/")
    with pytest.raises(DeploymentNotFound):
        choose([HOST], "a", "/")
