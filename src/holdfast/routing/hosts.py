"""Which deployment answers a host and a path: the one with the most specific route.

A deployment that names the host precedes one that answers any; among those, the longest prefix of
the path wins. Two that are equally specific are ambiguous: nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.errors import AmbiguousDeployment, DeploymentNotFound
from holdfast.model.deployments import Deployment


def choose(deployments: Iterable[Deployment], host: str, path: str) -> Deployment:
    """Return the deployment that answers; raises DeploymentNotFound, AmbiguousDeployment."""
    ranked = [(_rank(one, host.lower(), path), one) for one in deployments]
    fitting = [(rank, one) for rank, one in ranked if rank is not None]
    if not fitting:
        raise DeploymentNotFound(f"no deployment answers {host}{path}")
    best = max(rank for rank, _ in fitting)
    found = [one for rank, one in fitting if rank == best]
    if len(found) > 1:
        names = ", ".join(sorted(one.id for one in found))
        raise AmbiguousDeployment(f"several deployments answer {host}{path}: {names}")
    return found[0]


def _rank(deployment: Deployment, host: str, path: str) -> tuple[bool, int] | None:
    """Return how specific the route of a deployment is; None if it does not fit."""
    if deployment.hosts and host not in deployment.hosts:
        return None
    prefixes = [one for one in deployment.path_prefixes if _covers(one, path)]
    if deployment.path_prefixes and not prefixes:
        return None
    return bool(deployment.hosts), max(map(len, prefixes), default=0)


def _covers(prefix: str, path: str) -> bool:
    """Whether a path is under a prefix; `/chat` covers `/chat/1` and not `/chatter`."""
    return prefix in {"/", path} or path.startswith(prefix + "/")
