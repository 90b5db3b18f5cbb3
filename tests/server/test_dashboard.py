"""The Grafana dashboard asks for figures that there are."""

from __future__ import annotations

import json
import re

from holdfast.server.metrics import Metrics
from holdfast.server.run import ADMIN_KEY_VARIABLE
from tests.support.http_servers import ROOT


def test_every_figure_of_the_dashboard_exists() -> None:
    """By name; and every figure of the server is on it."""
    dashboard = json.loads((ROOT / "dashboards" / "holdfast.json").read_text())
    asked = {
        re.sub(r"_(bucket|total)$", "", name)
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"holdfast_\w+", target["expr"])
    }
    there = {family.name for family in Metrics().registry.collect()}
    assert asked == there


def test_the_figures_are_documented() -> None:
    """Each has its row."""
    page = (ROOT / "docs" / "http-api.md").read_text()
    for family in Metrics().registry.collect():
        assert f"`{family.name}" in page, family.name


def test_the_compose_file_starts_a_store_and_a_server() -> None:
    """With the variables that the server reads."""
    compose = (ROOT / "compose.yaml").read_text()
    assert re.findall(r"^  (\w+):$", compose, re.MULTILINE) == ["store", "server", "store"]
    assert "HOLDFAST_STORE: valkey://store\n" in compose
    assert f"{ADMIN_KEY_VARIABLE}: " in compose
    assert "HOLDFAST_LISTEN=0.0.0.0:8080" in (ROOT / "Dockerfile").read_text()
