"""Packs as folders and archives: build, digests, signatures, trust, overlays."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import msgspec
import pytest

from holdfast.errors import Conflict, InvalidInput, InvalidPack
from holdfast.host.packs import (
    Origin,
    PrivateKey,
    Problem,
    PublicKey,
    Trust,
    archive,
    build,
    bundle,
    limits,
    load,
    load_archive,
    load_folder,
    manifest,
    sign,
)
from holdfast.host.packs.problems import MEANINGS
from tests.support.packs import MAIN, files_of, pack_of, write_folder

OPEN = Trust(unsigned=True)
HEAD = "id: a\nversion: 1.0.0\nflows: []\nsecrets: [K]\n"


def _problem(data: bytes, trust: Trust = OPEN) -> str:
    with pytest.raises(InvalidPack) as caught:
        load_archive(data, trust)
    return str(caught.value.context["problem"])


def _folder_problem(folder: Path) -> str:
    with pytest.raises(InvalidPack) as caught:
        load_folder(folder)
    return str(caught.value.context["problem"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "support", files_of())


def test_two_builds_are_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    """Whatever the times, modes and names of the folders are."""
    other = write_folder(tmp_path / "other", dict(reversed(files_of().items())))
    (other / "pack.yaml").chmod(0o755)
    os.utime(other / "pack.yaml", (1, 1))
    first, second = load_folder(folder), load_folder(other)
    assert build(first) == build(second)
    assert first.digest == second.digest
    assert first.digest.startswith("sha256:")
    assert first.file_name == "support-1.2.0.hfpack"


def test_an_archive_is_the_pack_that_was_built(folder: Path, tmp_path: Path) -> None:
    """The same files, definition and digest."""
    pack = load_folder(folder)
    path = tmp_path / pack.file_name
    path.write_bytes(build(pack))
    found = load(path, OPEN)
    assert (found.files, found.digest) == (pack.files, pack.digest)
    assert found.definition.shown() == pack.definition.shown()
    assert build(found) == path.read_bytes()


def test_files_of_tools_are_left_out(folder: Path) -> None:
    """Names that begin with a dot, and what Python and systems leave behind."""
    write_folder(
        folder,
        {".git/config": b"", "flows/.main.yaml.swp": b"", "components/__pycache__/a.pyc": b""},
    )
    assert load_folder(folder).digest == pack_of().digest


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("notes.txt", "unexpected_file"),
        ("pack.yml", "unexpected_file"),
        ("manifest.json", "unexpected_file"),
        ("src/a.py", "unexpected_file"),
        ("flows/main.yml", "unexpected_file"),
        ("flows/deep/main.yaml", "unexpected_file"),
        ("assets/a:b", "unsafe_path"),
        ("assets/LOGO.txt", "case_collision"),
        ("assets/a/b/c/d/e/f/g/h/i", "unsafe_path"),
    ],
)
def test_files_that_a_pack_cannot_have_are_refused(folder: Path, name: str, problem: str) -> None:
    """With the name of the file."""
    write_folder(folder, {name: b""})
    assert _folder_problem(folder) == problem


def test_links_and_pipes_in_a_folder_are_refused(folder: Path) -> None:
    """They could be anything by the time they are read."""
    link = folder / "assets" / "link"
    link.symlink_to("/etc/passwd")
    assert _folder_problem(folder) == "symlink"
    link.unlink()
    (folder / "assets" / "inner").symlink_to(folder / "flows", target_is_directory=True)
    assert _folder_problem(folder) == "symlink"
    (folder / "assets" / "inner").unlink()
    os.mkfifo(folder / "assets" / "pipe")
    assert _folder_problem(folder) == "not_a_file"


def test_a_folder_has_the_limits_of_an_archive(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, their sizes and their sum."""
    monkeypatch.setattr(limits, "FILES", 3)
    assert _folder_problem(folder) == "too_many_files"
    monkeypatch.undo()
    monkeypatch.setattr(limits, "FILE_BYTES", 20)
    assert _folder_problem(folder) == "too_large"
    monkeypatch.undo()
    monkeypatch.setattr(limits, "TOTAL_BYTES", 300)
    assert _folder_problem(folder) == "too_large"


def test_a_pack_that_is_not_there_is_wrong_input(tmp_path: Path) -> None:
    """Not a broken pack."""
    with pytest.raises(InvalidInput, match="cannot read"):
        load(tmp_path / "none.hfpack", OPEN)
    with pytest.raises(InvalidInput, match="no folder"):
        load_folder(tmp_path / "none")


def _with(**changed: bytes | None) -> bytes:
    """Return an archive in which files were replaced, added, or with None removed."""
    files = archive.read(build(pack_of()))
    for key, data in changed.items():
        name = {"manifest": "manifest.json", "signatures": "signatures.json"}.get(key, key)
        if data is None:
            del files[name]
        else:
            files[name] = data
    return archive.write(files)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (_with(manifest=None), "no_manifest"),
        (_with(manifest=b"{}"), "invalid_manifest"),
        (_with(manifest=b"[" * 100_000), "invalid_manifest"),
        (_with(manifest=b"\xff"), "invalid_manifest"),
        (_with(manifest=pack_of().manifest.data + b" "), "invalid_manifest"),
        (_with(manifest=pack_of().manifest.data.replace(b"1.2.0", b"1.2.1")), "invalid_manifest"),
        (
            _with(manifest=pack_of().manifest.data.replace(b'"format":1', b'"format":2')),
            "invalid_manifest",
        ),
        (
            _with(manifest=pack_of().manifest.data.replace(b"sha256:", b"sha512:", 1)),
            "invalid_manifest",
        ),
        (_with(**{"assets/logo.txt": None}), "missing_file"),
        (_with(**{"assets/logo.txt": b"LOGO"}), "wrong_digest"),
        (_with(**{"assets/logo.txt": b"longer"}), "wrong_digest"),
        (_with(**{"assets/more.txt": b""}), "extra_file"),
        (_with(signatures=b"{}"), "invalid_signatures"),
        (_with(signatures=b'{"format":1,"signatures":[]}'), "invalid_signatures"),
        (
            _with(signatures=b'{"format":1,"signatures":[{"key":"a","signature":"b"}]}'),
            "invalid_signatures",
        ),
    ],
)
def test_an_archive_is_what_its_manifest_says(data: bytes, problem: str) -> None:
    """All files, no others, with their contents."""
    assert _problem(data) == problem


def test_files_of_an_archive_are_where_packs_have_files() -> None:
    """Even if the manifest lists them."""
    files = {**files_of(), "elsewhere/a.txt": b""}
    described = manifest.describe("support", "1.2.0", files)
    assert _problem(archive.write({**files, "manifest.json": described.data})) == "unexpected_file"


def test_a_signed_pack_is_trusted_for_its_key() -> None:
    """The digest stays the same, and signing is deterministic."""
    key, other = PrivateKey.generate(), PrivateKey.generate()
    plain = build(pack_of())
    signed = sign(plain, key)
    assert signed == sign(signed, key) == sign(plain, key)
    found = load_archive(signed, Trust(keys=frozenset({key.public})))
    assert (found.verdict.origin, found.verdict.keys) == (Origin.TRUSTED, (key.public,))
    assert found.digest == pack_of().digest
    assert _problem(signed, Trust(keys=frozenset({other.public}))) == "untrusted"
    assert _problem(signed, Trust()) == "untrusted"
    twice = sign(signed, other)
    for trusted in (key, other):
        found = load_archive(twice, Trust(keys=frozenset({trusted.public})))
        assert found.verdict.keys == (trusted.public,)


def test_an_unsigned_pack_needs_permission_and_is_visible(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The origin says so, and the log as well."""
    plain = build(pack_of())
    assert _problem(plain, Trust()) == "unsigned"
    with caplog.at_level(logging.WARNING):
        assert load_archive(plain, OPEN).verdict.origin is Origin.UNSIGNED
    assert "support 1.2.0" in caplog.text
    assert "unsigned" in caplog.text
    signed = sign(plain, PrivateKey.generate())
    assert load_archive(signed, OPEN).verdict.origin is Origin.UNTRUSTED


def test_a_signature_of_another_pack_is_wrong() -> None:
    """Whoever is trusted, and even where unsigned packs are allowed."""
    key = PrivateKey.generate()
    files = archive.read(sign(build(pack_of()), key))
    other = pack_of(files_of(main=MAIN.replace("Hello", "Goodbye")))
    forged = {**archive.read(build(other)), "signatures.json": files["signatures.json"]}
    data = archive.write(forged)
    assert _problem(data, Trust(keys=frozenset({key.public}))) == "wrong_signature"
    assert _problem(data, OPEN) == "wrong_signature"


def test_too_many_signatures_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checking them takes time."""
    signed = sign(build(pack_of()), PrivateKey.generate())
    monkeypatch.setattr(limits, "SIGNATURES", 1)
    with pytest.raises(InvalidInput, match="at most 1"):
        sign(signed, PrivateKey.generate())
    monkeypatch.setattr(limits, "SIGNATURES", 0)
    assert _problem(signed) == "invalid_signatures"


def test_a_signature_is_written_in_one_way() -> None:
    """Otherwise two archives of the same pack and key would differ."""
    files = archive.read(sign(build(pack_of()), PrivateKey.generate()))
    form = msgspec.json.decode(files["signatures.json"])
    form["signatures"][0]["key"] += " comment"
    data = archive.write({**files, "signatures.json": msgspec.json.encode(form)})
    assert _problem(data) == "invalid_signatures"


def test_keys_are_small_files(tmp_path: Path) -> None:
    """The private one is for its owner only, and no file is overwritten."""
    key = PrivateKey.generate()
    public_path = key.write(tmp_path / "release.key")
    assert (tmp_path / "release.key").stat().st_mode & 0o777 == 0o600
    assert PublicKey.read(public_path) == key.public
    assert PublicKey.parse(f"{key.public} release key of support\n") == key.public
    again = PrivateKey.read(tmp_path / "release.key")
    assert again.sign(b"x") == key.sign(b"x")
    with pytest.raises(Conflict, match="exists"):
        key.write(tmp_path / "release.key")
    with pytest.raises(InvalidInput, match="public key"):
        PrivateKey.read(public_path)
    with pytest.raises(InvalidInput, match="cannot write"):
        key.write(tmp_path / "none" / "a.key")


@pytest.mark.parametrize("text", ["", "ed25519:", "ed25519:AAAA", "rsa:AAAA", "ed25519:é", "\x00"])
def test_what_is_no_key_is_wrong_input(tmp_path: Path, text: str) -> None:
    """Public or private."""
    with pytest.raises(InvalidInput):
        PublicKey.parse(text)
    path = tmp_path / "key"
    path.write_text(text, "utf-8")
    with pytest.raises(InvalidInput):
        PrivateKey.read(path)


def test_the_private_key_is_not_shown() -> None:
    """Not in logs and not in tracebacks."""
    shown = repr(PrivateKey.generate())
    assert "PRIVATE" not in shown.upper().replace("PRIVATEKEY", "")


def _overlay(text: str, **flows: str) -> dict[str, bytes]:
    return {
        "pack.yaml": text.encode(),
        **{f"flows/{name}.yaml": flow.encode() for name, flow in flows.items()},
        "components/orders.wasm": b"",
    }


def test_an_overlay_adds_to_the_main_pack() -> None:
    """Its flows and components count, its entry does not."""
    extra = MAIN.replace("id: main", "id: extra")
    overlay = pack_of(_overlay("id: addon\nversion: 1.0.0\n", extra=extra))
    found = bundle(pack_of(), [overlay])
    assert sorted(found.flows) == ["extra", "helper", "main"]
    assert found.flows["extra"][0] is overlay
    assert found.main.definition.entry == "main"
    assert list(found.components) == ["orders"]
    assert [pack.id for pack in found.packs] == ["support", "addon"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("id: support\nversion: 9.0.0\n", "pack"),
        ("id: a\nversion: 1.0.0\n", "flow"),
        (
            f"{HEAD}components: {{orders: {{kind: http, source: 'http://x', operations: [x]}}}}\n",
            "component",
        ),
        (
            f"{HEAD}models: {{small: {{base_url: 'http://x', model: y, key_secret: K}}}}\n",
            "model",
        ),
    ],
)
def test_ids_of_a_main_pack_and_its_overlays_are_distinct(text: str, kind: str) -> None:
    """An overlay cannot replace anything."""
    with pytest.raises(InvalidPack, match=f"the {kind} `") as caught:
        bundle(pack_of(), [pack_of(_overlay(text, main=MAIN))])
    assert caught.value.context["problem"] == "duplicate_id"


def test_every_problem_has_a_meaning_and_the_documents_have_it() -> None:
    """docs/packs.md lists them all, in the same words."""
    assert set(MEANINGS) == set(Problem)
    document = (Path(__file__).parents[4] / "docs" / "packs.md").read_text("utf-8")
    for problem, meaning in MEANINGS.items():
        assert f"| `{problem.value}` | {meaning} |" in document
