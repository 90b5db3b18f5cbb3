"""The Grafana dashboard asks for figures that there are."""

from __future__ import annotations

import json
import re

from holdfast.server.metrics import Metrics
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
