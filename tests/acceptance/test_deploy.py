"""The manifests and units of deploy/, read as Kubernetes and systemd read them.

The manifests are what helm made of the chart, so checks of them are checks of the chart.
"""

from __future__ import annotations

import configparser
import re
import runpy
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from holdfast.cli.main import app
from holdfast.server.routes import system
from holdfast.server.settings import ServerSettings
from holdfast.store.valkey import urls
from holdfast.testing.servers import start_server
from tests.support.http_servers import ROOT

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").iterdir())
MANIFESTS: list[dict[str, Any]] = [
    one for one in yaml.safe_load_all((DEPLOY / "kubernetes" / "holdfast.yaml").read_text()) if one
]


def _of(kind: str) -> dict[str, dict[str, Any]]:
    """Return the objects of a kind by their names."""
    return {one["metadata"]["name"]: one for one in MANIFESTS if one["kind"] == kind}


def _templates() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the templates of all pods."""
    for name, one in (_of("Deployment") | _of("StatefulSet")).items():
        yield name, one["spec"]["template"]
    for name, one in _of("CronJob").items():
        yield name, one["spec"]["jobTemplate"]["spec"]["template"]


PODS = dict(_templates())


def _container(pod: str) -> dict[str, Any]:
    (container,) = PODS[pod]["spec"]["containers"]
    return dict(container)


def _variables(pod: str) -> dict[str, dict[str, Any]]:
    return {variable["name"]: variable for variable in _container(pod).get("env", [])}


def _parse(args: list[str]) -> None:
    """Parse the arguments of `holdfast`, as the command does before it begins."""
    command = get_command(app).commands[args[0]]  # type: ignore[attr-defined]
    command.make_context(args[0], args[1:])


def test_the_manifests_are_those_of_the_chart() -> None:
    """A change of the chart is rendered: tools/render_manifests.py."""
    header = runpy.run_path(str(ROOT / "tools" / "render_manifests.py"))["header"]()
    assert (DEPLOY / "kubernetes" / "holdfast.yaml").read_text().startswith(header)


@pytest.mark.parametrize("pod", PODS)
def test_pods_have_few_rights(pod: str) -> None:
    """No root, no capabilities, no writable root file system, no token of the cluster."""
    spec, container = PODS[pod]["spec"], _container(pod)
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"]["memory"]


def test_secrets_come_from_the_secret_of_the_operator() -> None:
    """The chart writes none, and the URL of the store gets its password from Kubernetes."""
    assert _of("Secret") == {}
    for pod in PODS:
        for name, variable in _variables(pod).items():
            if re.search("KEY|PASSWORD", name):
                assert variable["valueFrom"]["secretKeyRef"]["name"] == "holdfast"
    url = urls.parse(_variables("holdfast-server")["HOLDFAST_STORE"]["value"])
    assert url.password == "$(VALKEY_PASSWORD)"  # noqa: S105 - a reference
    assert url.addresses == (("holdfast-valkey-primary", 6379),)


def test_kubernetes_expands_variables_that_come_before() -> None:
    """A variable can refer to earlier ones only."""
    for pod in PODS:
        seen: set[str] = set()
        for name, variable in _variables(pod).items():
            assert {*re.findall(r"\$\((\w+)\)", variable.get("value", ""))} <= seen, pod
            seen.add(name)


@pytest.mark.parametrize("pod", ["holdfast-server", "holdfast-worker-shop", "holdfast-backup"])
def test_commands_of_pods_have_options_that_exist(pod: str) -> None:
    """Their arguments can be parsed."""
    _parse(_container(pod)["args"])


def test_probes_ask_routes_that_exist() -> None:
    """And a server that stops has time for its calls."""
    public = {route.path for route in system.routes.routes if route.method == "GET"}
    spec, server = PODS["holdfast-server"]["spec"], _container("holdfast-server")
    probes = ("startupProbe", "livenessProbe", "readinessProbe")
    asked = [server[probe]["httpGet"]["path"] for probe in probes]
    assert asked == ["/healthz", "/healthz", "/readyz"]
    assert {*asked} <= public
    _, pause = server["lifecycle"]["preStop"]["exec"]["command"]
    assert int(pause) + ServerSettings().grace_s < spec["terminationGracePeriodSeconds"]


def test_what_selects_pods_finds_them() -> None:
    """Services, budgets and autoscalers lead to pods of these manifests, and to ports they have."""
    for name, service in _of("Service").items():
        wanted = dict(service["spec"]["selector"])
        primary = wanted.pop("statefulset.kubernetes.io/pod-name", "holdfast-valkey-0")
        assert primary == "holdfast-valkey-0"
        (pod,) = [one for one in PODS if wanted.items() <= PODS[one]["metadata"]["labels"].items()]
        ports = {port["name"] for port in _container(pod)["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports, name
    for budget in _of("PodDisruptionBudget").values():
        wanted = budget["spec"]["selector"]["matchLabels"]
        assert any(wanted.items() <= pod["metadata"]["labels"].items() for pod in PODS.values())
    for scaler in _of("HorizontalPodAutoscaler").values():
        target = scaler["spec"]["scaleTargetRef"]
        assert "replicas" not in _of(target["kind"])[target["name"]]["spec"]


def test_valkey_knows_its_configuration() -> None:
    """The server takes every line, keeps its data in a log and never evicts."""
    lines = _of("ConfigMap")["holdfast-valkey"]["data"]["valkey.conf"].splitlines()
    settings = dict(line.split(maxsplit=1) for line in lines)
    del settings["dir"]
    options = [part for name, value in settings.items() for part in (f"--{name}", value.strip('"'))]
    with start_server(*options) as server, server.raw() as raw:
        assert raw.config_get("appendonly")["appendonly"] == "yes"
        assert raw.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"


@pytest.mark.parametrize(
    ("pod", "peer_keys", "follows"),
    [
        ("holdfast-valkey-0", "0", False),
        ("holdfast-valkey-0", "42", None),
        ("holdfast-valkey-1", "0", True),
    ],
    ids=["primary", "primary that lost its disk", "replica"],
)
def test_how_a_pod_of_valkey_starts(
    pod: str, peer_keys: str, *, follows: bool | None, tmp_path: Path
) -> None:
    """An empty primary refuses to start while a replica has data; replicas follow the primary."""
    files = _of("ConfigMap")["holdfast-valkey"]["data"]
    for folder in ("etc", "run", "data", "bin"):
        (tmp_path / folder).mkdir()
    (tmp_path / "etc" / "valkey.conf").write_text(files["valkey.conf"])
    script = files["start.sh"].replace("/etc/valkey", f"{tmp_path}/etc")
    script = script.replace("/run/valkey", f"{tmp_path}/run").replace("/data", f"{tmp_path}/data")
    programs = {
        "hostname": f"echo {pod}",
        "valkey-cli": f"echo {peer_keys}",
        "valkey-server": 'cat "$1"',
    }
    for name, text in programs.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "VALKEY_PASSWORD": "abc"}
    command = ["sh", "-c", script]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if follows is None:
        assert ended.returncode == 1
        assert "set valkey.primary to 1" in ended.stderr
        return
    assert ended.returncode == 0, ended.stderr
    assert "requirepass abc\nprimaryauth abc\n" in ended.stdout
    line = "replicaof holdfast-valkey-0.holdfast-valkey 6379"
    assert (line in ended.stdout) is follows
    assert (tmp_path / "run" / "valkey.conf").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_units_run_commands_that_exist(unit: Path) -> None:
    """As an ordinary user, with a stop that leaves time to drain, and secrets in files."""
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(unit)
    service = dict(parser["Service"])
    words = shlex.split(service["ExecStart"].replace("$HOLDFAST_WORKER_OPTIONS", "--slots=5"))
    assert words[0] == "/opt/holdfast/bin/holdfast"
    _parse(words[1:])
    assert service["User"] == "holdfast"
    assert service["KillMode"] == "mixed"
    assert service["EnvironmentFile"].startswith("/etc/holdfast/")
    assert not {"Environment", "LoadCredential"} & service.keys()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    """It knows every setting of theirs."""
    names = []
    for unit in UNITS:
        name = unit.name.replace("@.", "@shop.")
        text = unit.read_text().replace("/opt/holdfast/bin/holdfast", "/bin/true")
        (tmp_path / name).write_text(text)
        names.append(str(tmp_path / name))
    command = ["systemd-analyze", "verify", "--man=no", *names]
    verified = subprocess.run(command, capture_output=True, text=True, check=False)
    # It also reports on other units of the machine.
    lines = [line for line in verified.stderr.splitlines() if "holdfast" in line]
    assert lines == []
