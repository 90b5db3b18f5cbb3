"""Arguments and options that the commands about deployments share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from holdfast.cli.terminal.bundles import Bundle
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.errors import InvalidInput
from holdfast.model.deployments import DeploymentRef

_BPS_PER_PERCENT = 100

DeploymentId = Annotated[
    str, typer.Argument(metavar="DEPLOYMENT", help="The id of the deployment.")
]
RevisionId = Annotated[str, typer.Argument(metavar="REVISION", help="The id of the revision.")]
EnvOption = Annotated[str, typer.Option("--env", help="The env.")]
TenantOption = Annotated[
    str | None,
    typer.Option("--tenant", help="The tenant, if several have a deployment of this id."),
]


@dataclass(frozen=True, kw_only=True)
class OneDeployment(Bundle):
    """A deployment, where it is, and how to write about it."""

    deployment: DeploymentId
    env: EnvOption = "local"
    tenant: TenantOption = None
    store: StoreOption = None
    as_json: JsonOption = False

    @property
    def ref(self) -> DeploymentRef:
        """The name of the deployment."""
        return ref(self.deployment, self.env, self.tenant)


@dataclass(frozen=True, kw_only=True)
class PageOfEnv(Bundle):
    """A page of the objects of an env."""

    env: EnvOption = "local"
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only of this tenant.")] = None
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many on a page.")] = 50
    cursor: Annotated[str | None, typer.Option("--cursor", help="Continue where a page ended.")] = (
        None
    )
    store: StoreOption = None
    as_json: JsonOption = False


def ref(deployment: str, env: str, tenant: str | None) -> DeploymentRef:
    """Return the name of a deployment."""
    return DeploymentRef(env=env, id=deployment, tenant=tenant)


def percent_bps(field: str, text: str) -> int:
    """Return a percentage in basis points."""
    try:
        bps = float(text.removesuffix("%")) * _BPS_PER_PERCENT
    except ValueError:
        bps = -1.0
    if not round(bps, 6).is_integer() or bps < 0:
        message = f"{field}: must be percents with up to two decimals, got {text!r}"
        raise InvalidInput(message, field=field)
    return round(bps)
