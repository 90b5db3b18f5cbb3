"""The alerts ask for figures that there are, and lead to their part of the runbook."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from prometheus_client import Counter, Gauge, Histogram

from holdfast.server.metrics import Metrics
from tests.support.http_servers import ROOT

RUNBOOK = "docs/runbook.md"
GROUPS = yaml.safe_load((ROOT / "deploy" / "prometheus" / "rules.yaml").read_text())["groups"]
RULES: list[dict[str, Any]] = [rule for group in GROUPS for rule in group["rules"]]
ALERTS = [rule for rule in RULES if "alert" in rule]
RECORDED = {rule["record"] for rule in RULES if "record" in rule}

#: A figure, recorded or not, and what it is selected by.
_FIGURE = re.compile(r"((?:\w+:)?holdfast_\w+(?::\w+)?)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)=~?"([^"]*)"')


def _series() -> dict[str, set[str]]:
    """Return the names of all series of a server, with their labels."""
    series: dict[str, set[str]] = {}
    for figure in vars(Metrics()).values():
        if isinstance(figure, Counter | Gauge | Histogram):
            (family,) = figure.describe()
            labels = set(figure._labelnames)
            endings = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}
            for ending in endings.get(family.type, [""]):
                series[f"{family.name}{ending}"] = labels
    return series


def test_every_figure_of_the_rules_exists() -> None:
    """With the labels that a rule selects by."""
    series = _series()
    for rule in RULES:
        figures = _FIGURE.findall(rule["expr"])
        assert figures, rule
        for name, matchers in figures:
            if name not in RECORDED:
                assert {label for label, _ in _MATCHER.findall(matchers)} <= series[name], rule


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_every_alert_has_its_part_of_the_runbook(alert: dict[str, Any]) -> None:
    """Its annotation names a heading that exists, and it says how bad it is."""
    headings = re.findall(r"^## (.+)$", (ROOT / RUNBOOK).read_text(), re.MULTILINE)
    assert alert["annotations"]["runbook"] == f"{RUNBOOK}#{alert['alert'].lower()}"
    assert alert["alert"] in headings
    assert alert["annotations"]["summary"]
    assert alert["labels"]["severity"] in {"critical", "warning"}


def test_the_runbook_has_no_other_parts() -> None:
    """In the order of the rules."""
    headings = re.findall(r"^## (.+)$", (ROOT / RUNBOOK).read_text(), re.MULTILINE)
    assert headings == [alert["alert"] for alert in ALERTS]


def test_the_incidents_of_the_rules_are_counted() -> None:
    """The store counts them under these names."""
    counted = (ROOT / "src" / "holdfast" / "lua" / "admin" / "pulse.lua").read_text()
    for rule in RULES:
        for incident in re.findall(r'incident="(\w+)"', rule["expr"]):
            assert f"'{incident}'" in counted


def test_autoscalers_read_a_recorded_figure() -> None:
    """The adapter finds what the rules record, under the name that the manifests ask for."""
    adapter = yaml.safe_load((ROOT / "deploy" / "prometheus" / "adapter.yaml").read_text())
    (metric,) = adapter["rules"]["external"]
    (recorded,) = RECORDED
    assert metric["seriesQuery"] == f'{{__name__="{recorded}"}}'
    manifests = (ROOT / "deploy" / "kubernetes" / "holdfast.yaml").read_text()
    scalers = [
        one
        for one in yaml.safe_load_all(manifests)
        if one and one["kind"] == "HorizontalPodAutoscaler"
    ]
    names = {m["external"]["metric"]["name"] for one in scalers for m in one["spec"]["metrics"]}
    assert names == {metric["name"]["as"]}
