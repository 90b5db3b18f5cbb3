"""Arguments and options that the commands about deployments share."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.model.deployments import DeploymentRef

DeploymentId = Annotated[
    str, typer.Argument(metavar="DEPLOYMENT", help="The id of the deployment.")
]
RevisionId = Annotated[str, typer.Argument(metavar="REVISION", help="The id of the revision.")]
EnvOption = Annotated[str, typer.Option("--env", help="The env.")]
TenantOption = Annotated[
    str | None,
    typer.Option("--tenant", help="The tenant, if several have a deployment of this id."),
]


def ref(deployment: str, env: str, tenant: str | None) -> DeploymentRef:
    """Return the name of a deployment."""
    return DeploymentRef(env=env, id=deployment, tenant=tenant)
