"""Build the documentation site into build/docs/site/VERSION.

build/docs/pages has the pages as Markdown, those that are generated included. Folders of other
versions stay: a site that keeps them shows a list of versions (versions.json).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml
from docsite import commands, errors, gallery, modules, navigation, sources

ROOT = Path(__file__).parent.parent
_REDIRECT = '<!doctype html><meta charset="utf-8"><title>Holdfast</title>\n\
<meta http-equiv="refresh" content="0; url={version}/index.html">\n\
<a href="{version}/index.html">Holdfast {version}</a>\n'


def version() -> str:
    """Return the version of the package, which pyproject.toml names."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return str(settings["project"]["version"])


def pages(limit: int | None = None) -> dict[str, str]:
    """Return every page of the site by its path; `limit` is a number of modules."""
    generated = gallery.pages() | modules.pages(limit) | commands.pages() | errors.pages()
    return sources.pages(gallery.places()) | generated


def write(folder: Path, limit: int | None) -> Path:
    """Write the pages and the configuration into a folder; return the configuration."""
    shutil.rmtree(folder / "pages", ignore_errors=True)
    texts = pages(limit)
    contents = {path: text.encode() for path, text in texts.items()} | sources.files()
    for path, content in contents.items():
        place = folder / "pages" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    nav = yaml.safe_load((ROOT / "docs" / "nav.yml").read_text("utf-8"))
    settings = {
        "INHERIT": str(ROOT / "mkdocs.yml"),
        "docs_dir": "pages",
        "site_dir": f"site/{version()}",
        "nav": navigation.filled(nav, texts),
    }
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False))
    return folder / "mkdocs.yml"


def index_versions(site: Path) -> None:
    """List the versions that a site has, the newest first, and lead readers to that one."""
    found = [path.parent.name for path in site.glob("*/index.html")]
    ordered = sorted(found, key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    listed = [{"version": name, "title": name, "aliases": []} for name in ordered]
    (site / "versions.json").write_text(json.dumps(listed))
    (site / "index.html").write_text(_REDIRECT.format(version=ordered[0]))


def main() -> int:
    """Build; return the exit code of mkdocs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", type=int, help="of the Python API, the first modules only")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "docs")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    settings = write(asked.folder.resolve(), asked.modules)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(settings)]
    # The theme advertises its successor.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, env=environment, check=False)
    if built.returncode == 0:
        index_versions(asked.folder / "site")
        print(f"the site is in {asked.folder / 'site' / version()}/index.html")
    return built.returncode


if __name__ == "__main__":
    sys.exit(main())
