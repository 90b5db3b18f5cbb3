"""Render the plain Kubernetes manifests from the Helm chart; needs helm.

The first lines of the manifests have the digest of what they were rendered from, so a test can tell
that a chart was changed and not rendered.
"""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

DEPLOY: Path = Path(__file__).parent.parent / "deploy"
CHART: Path = DEPLOY / "helm" / "holdfast"
VALUES: Path = DEPLOY / "kubernetes" / "values.yaml"
MANIFESTS: Path = DEPLOY / "kubernetes" / "holdfast.yaml"
KUBERNETES = "1.30.0"


def sources_digest() -> str:
    """Return the digest of the chart and of the values."""
    digest = hashlib.sha256()
    for path in sorted(path for path in (*CHART.rglob("*"), VALUES) if path.is_file()):
        digest.update(f"{path.relative_to(DEPLOY)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def header() -> str:
    """Return the first lines of the manifests."""
    return (
        "# Written by tools/render_manifests.py from deploy/helm/holdfast. Do not edit.\n"
        f"# sources sha256:{sources_digest()}\n"
    )


def main() -> None:
    """Write the manifests."""
    command = ["helm", "template", "holdfast", str(CHART), "--values", str(VALUES)]
    # A helm that `go install` built takes itself for one of Kubernetes 1.20.
    command += ["--kube-version", KUBERNETES]
    rendered = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    MANIFESTS.write_text(header() + rendered)


if __name__ == "__main__":
    main()
