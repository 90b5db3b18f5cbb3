"""Look for known vulnerabilities of what is locked, with pip-audit in an environment of its own.

Exits with 1 if there are some. Without the service that knows them there is no answer: that is an
error, unless --if-reachable allows it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
HOME = ROOT / ".venv" / "audit"
LOCK = ROOT / "requirements.lock"
#: Where advisories are, and how long it may take to answer.
SERVICE = "https://pypi.org/pypi/{}/{}/json"
REACH_S = 5
MOST_S = 300


def is_reachable() -> bool:
    """Return whether the service answers for the first package of the lock."""
    name, _, rest = LOCK.read_text().partition("==")
    url = SERVICE.format(name, rest.split()[0])
    try:
        with urllib.request.urlopen(url, timeout=REACH_S) as answer:  # noqa: S310 - a fixed host
            return "vulnerabilities" in json.load(answer)
    except (OSError, ValueError):
        return False


def install() -> None:
    """Install what the audit needs, from its own lock."""
    if not HOME.is_dir():
        venv.create(HOME, with_pip=True)
    lock = ROOT / "requirements-audit.lock"
    options = ("-q", "--disable-pip-version-check", "--require-hashes", "-r", str(lock))
    subprocess.run([HOME / "bin" / "python", "-m", "pip", "install", *options], check=True)


def compare() -> list[str] | None:
    """Compare the lock with what is known; returns a line for each vulnerability, or no answer."""
    install()
    options = ("--strict", "--require-hashes", "--disable-pip", "-f", "json", "-r")
    command = [str(HOME / "bin" / "pip-audit"), *options, str(LOCK)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MOST_S)
    found = findings(done.stdout)
    if found is None:
        print(done.stderr.strip()[-500:], file=sys.stderr)
    return found


def findings(output: str) -> list[str] | None:
    """Return a line for each vulnerability; None if the output is no answer."""
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return None
    return [
        f"{package['name']} {package['version']}: {known['id']}"
        + (f", fixed in {', '.join(known['fix_versions'])}" if known.get("fix_versions") else "")
        for package in packages
        for known in package.get("vulns", ())
    ]


def main() -> int:
    """Look and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--if-reachable", action="store_true", help="no service is no error")
    options = parser.parse_args()
    found = compare() if is_reachable() else None
    if found is None:
        print("audit: the advisory service cannot be reached, so nothing was compared")
        return 0 if options.if_reachable else 2
    print("\n".join(found) if found else "audit: no known vulnerability")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
