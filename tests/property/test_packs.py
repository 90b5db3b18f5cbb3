"""Packs and their files from authors who may be careless or hostile."""

from __future__ import annotations

import pytest

from tests.property.running import LIMIT_S, run_alone

pytestmark = pytest.mark.timeout(LIMIT_S + 10)


def test_no_text_crashes_the_reader_of_yaml() -> None:
    """Any text is read or refused, and JSON is read as JSON."""
    run_alone("run_yaml_fuzz")


def test_no_archive_or_folder_crashes_the_reader_of_packs() -> None:
    """Mutated archives, files and folders are loaded, built, verified and signed, or refused."""
    run_alone("run_pack_fuzz")
