"""`holdfast pack`: from a new folder to an archive that is signed and verified."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import run
from holdfast.host.packs import PublicKey, Trust, load_archive, load_folder
from tests.acceptance.processes import python
from tests.support.packs import FULL, files_of, write_folder


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in a folder of one's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Shell:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.err = ""

    def __call__(self, *args: str, code: int = 0) -> str:
        """Run a command and return its output."""
        assert run(["pack", *args]) == code, self._capsys.readouterr()
        out, self.err = self._capsys.readouterr()
        return out.strip()

    def json(self, *args: str) -> dict[str, Any]:
        """Run a command and return its JSON."""
        value: dict[str, Any] = json.loads(self(*args, "--json"))
        return value

    def error(self, *args: str, code: int = 2) -> dict[str, Any]:
        """Run a command that fails and return its error."""
        assert self(*args, "--json", code=code) == ""
        error: dict[str, Any] = json.loads(self.err)["error"]
        return error


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def test_from_a_new_folder_to_a_verified_archive(shell: Shell, folder: Path) -> None:
    """Each command says what it did; the digest is the same throughout."""
    assert "made the pack hello" in shell("new", "hello")
    digest = shell("build", "hello")
    assert digest.startswith("sha256:")
    assert "wrote hello-0.1.0.hfpack (4 files" in shell.err
    plain = (folder / "hello-0.1.0.hfpack").read_bytes()
    assert shell("build", "hello", "-o", "again.hfpack") == digest
    assert (folder / "again.hfpack").read_bytes() == plain
    public = shell("keygen", "release.key")
    assert (folder / "release.key.pub").read_text().strip() == public
    assert (folder / "release.key").stat().st_mode & 0o077 == 0
    assert public in shell("sign", "hello-0.1.0.hfpack", "--key", "release.key")
    for trusted in (public, "release.key.pub", "@release.key.pub"):
        said = shell("verify", "hello-0.1.0.hfpack", "--trust", trusted)
        assert f"intact and signed by {public}" in said
        assert digest in said
    root = Trust(keys=frozenset({PublicKey.parse(public)}))
    assert load_archive((folder / "hello-0.1.0.hfpack").read_bytes(), root).digest == digest
    shell("build", "hello", "--key", "release.key", "-o", "signed.hfpack")
    signed = (folder / "signed.hfpack").read_bytes()
    assert signed == (folder / "hello-0.1.0.hfpack").read_bytes()


def test_json_has_it_all(shell: Shell, folder: Path) -> None:
    """For programs."""
    write_folder(folder / "support", files_of(FULL))
    built = shell.json("build", "support")
    assert (built["id"], built["origin"], built["keys"]) == ("support.eu", "unsigned", [])
    assert built["file"] == "support.eu-1.2.0-rc.1+build.5.hfpack"
    assert built["bytes"] == (folder / built["file"]).stat().st_size
    key = shell.json("keygen", "k")
    assert key == {"public": key["public"], "private_file": "k", "public_file": "k.pub"}
    signed = shell.json("sign", built["file"], "--key", "k", "-o", "signed.hfpack")
    assert (signed["digest"], signed["origin"]) == (built["digest"], "trusted")
    verified = shell.json("verify", "signed.hfpack", "--trust", key["public"])
    assert verified["keys"] == [key["public"]]
    shown = shell.json("show", "signed.hfpack")
    assert shown["origin"] == "untrusted"
    assert [flow["id"] for flow in shown["flows"]] == ["main", "helper"]
    assert {entry["file"] for entry in shown["files"]} == set(files_of())
    assert shell.json("show", "support")["digest"] == built["digest"]
    assert shell.json("new", "other", "--id", "my.pack") == {"id": "my.pack", "folder": "other"}


def test_a_pack_without_a_trusted_signature_is_visible(shell: Shell) -> None:
    """It is refused, or shown as what it is."""
    shell("new", "hello")
    shell("build", "hello")
    archive = "hello-0.1.0.hfpack"
    assert shell.error("verify", archive)["context"]["problem"] == "unsigned"
    assert "UNSIGNED" in shell("verify", archive, "--allow-unsigned")
    assert "UNSIGNED" in shell("show", archive)
    shell("keygen", "a")
    shell("keygen", "b")
    shell("sign", archive, "--key", "a")
    assert shell.error("verify", archive, "--trust", "b.pub")["context"]["problem"] == "untrusted"
    assert "NOT TRUSTED" in shell("verify", archive, "--trust", "b.pub", "--allow-unsigned")
    assert "NOT TRUSTED" not in shell("show", archive, "--trust", "a.pub")


def test_every_defect_is_a_line(shell: Shell, folder: Path) -> None:
    """With its place and a suggestion; no archive is written."""
    shell("new", "hello")
    pack = folder / "hello" / "pack.yaml"
    pack.write_text(f"{pack.read_text()}wellcome: main\nbusy: queued\n")
    shell("build", "hello", code=2)
    assert shell.err.splitlines() == [
        "pack.yaml:5:1: the pack has no field `wellcome`; did you mean `welcome`? (unknown_field)",
        (
            "pack.yaml:6:7: `busy` of the pack must be queue or merge or interrupt or reject, "
            "got 'queued'; did you mean `queue`? (invalid_field)"
        ),
        "holdfast: the pack has 2 defects (invalid_pack)",
    ]
    error = shell.error("build", "hello")
    assert error["code"] == "invalid_pack"
    assert [defect["line"] for defect in error["context"]["defects"]] == [5, 6]
    assert not list(folder.glob("*.hfpack"))


def test_a_damaged_archive_is_refused_and_left_as_it_was(shell: Shell, folder: Path) -> None:
    """By every command that reads one."""
    shell("new", "hello")
    shell("build", "hello", "-o", "a.hfpack")
    shell("keygen", "k")
    path = folder / "a.hfpack"
    data = path.read_bytes().replace(b"version: 0.1.0", b"version: 0.1.1")
    path.write_bytes(data)
    for command in (
        ("verify", "a.hfpack"),
        ("show", "a.hfpack"),
        ("sign", "a.hfpack", "--key", "k"),
    ):
        assert shell.error(*command)["context"]["problem"] == "damaged_archive"
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("build", "none"), 2, "no folder none"),
        (("show", "none.hfpack"), 2, "cannot read none.hfpack"),
        (("verify", "none.hfpack"), 2, "cannot read none.hfpack"),
        (("build", "hello", "-o", "no/where.hfpack"), 2, "cannot write no/where.hfpack"),
        (("build", "hello", "--key", "none"), 2, "cannot read none"),
        (("sign", "none.hfpack", "--key", "hello/pack.yaml"), 2, "not a private key"),
        (("verify", "none.hfpack", "--trust", "ed25519:x"), 2, "must be a line"),
        (("keygen", "no/where"), 2, "cannot write"),
        (("new", "hello"), 1, "not an empty folder"),
        (("new", "My Pack"), 2, "lower-case letters"),
        (("sign", "a.hfpack"), 2, "--key"),
    ],
)
def test_wrong_use_is_one_line(shell: Shell, args: tuple[str, ...], code: int, words: str) -> None:
    """It says what is wrong."""
    shell("new", "hello")
    shell(*args, code=code)
    (line,) = shell.err.splitlines()
    assert words in line


def test_a_key_is_never_overwritten(shell: Shell, folder: Path) -> None:
    """Neither the private one nor the public one."""
    shell("keygen", "k")
    before = (folder / "k").read_bytes()
    shell("keygen", "k", code=1)
    assert "exists" in shell.err
    (folder / "k").unlink()
    shell("keygen", "k", code=1)
    assert not (folder / "k").exists()
    assert before


def test_the_command_alone_shows_its_help(folder: Path) -> None:
    """As a process of its own; it lists the verbs."""
    ended: subprocess.CompletedProcess[str] = python("-m", "holdfast.cli", "pack", folder=folder)
    assert ended.returncode == 0
    assert all(verb in ended.stdout for verb in ("new", "test", "build", "sign", "show"))


def test_lint_reports_problems_for_people_programs_and_ci(shell: Shell, folder: Path) -> None:
    """Problems of pack.yaml and of flows are listed with their places; errors exit with 1."""
    main = "id: main\ntype: messaging\nnodes: {hello: {emit: {text: Hi}, out: helo}}\n"
    write_folder(folder / "bad", files_of(main=main))
    lines = shell("lint", "bad", code=1).splitlines()
    place = "flows/main.yaml:3:40"
    assert lines[0] == (
        f"{place}: error: there is no node `helo` (did you mean `hello`?) [unknown_node]"
    )
    assert lines[-1] == "1 error"
    problems = json.loads(shell("lint", "bad", "--json", code=1))["problems"]
    assert [problem["code"] for problem in problems] == ["unknown_node"]
    log = json.loads(shell("lint", "bad", "--sarif", code=1))
    assert log["runs"][0]["results"][0]["ruleId"] == "unknown_node"


def test_lint_of_a_new_pack_finds_nothing(shell: Shell) -> None:
    """What `pack new` makes has no problems."""
    shell("new", "hello")
    assert shell("lint", "hello") == "no problems"


def test_tests_of_a_new_pack_pass_and_cover_it(shell: Shell, folder: Path) -> None:
    """People, programs and CI systems read what came of them."""
    shell("new", "hello")
    lines = shell("test", "hello", "--junit", "junit.xml", "--min-coverage", "100").splitlines()
    assert lines[0] == "passed  tests/main.yaml::Somebody says their name"
    assert lines[2].startswith("2 passed in ")
    assert lines[3] == "covered 4 of 4 nodes and 5 of 5 ways between them (100 %)"
    assert '<testsuites name="hello" tests="2" failures="0"' in (folder / "junit.xml").read_text()
    report = shell.json("test", "hello", "-k", "NAME")
    assert [one["verdict"] for one in report["tests"]] == ["passed"]
    assert report["coverage"]["nodes"]["missed"] == ["main.bye"]


def test_a_test_that_fails_shows_what_differs(shell: Shell, folder: Path) -> None:
    """And the command exits with 1; so it does if too little is covered."""
    shell("new", "hello")
    text = "tests: {A: [{say: hi}, {expect: Hello. What is your nam?}]}\n"
    (folder / "hello" / "tests" / "main.yaml").write_text(text)
    lines = shell("test", "hello", code=1).splitlines()
    assert lines[:3] == ["failed  tests/main.yaml::A", "", "--- tests/main.yaml::A ---"]
    assert "    - Hello. What is your nam?" in lines
    assert "    + Hello. What is your name?" in lines
    assert "  not covered: main.greet" in lines
    (folder / "hello" / "tests" / "main.yaml").write_text("tests: {}\n")
    lines = shell("test", "hello", "--min-coverage", "1", code=1).splitlines()
    assert lines[0] == "the pack has no tests"
    assert lines[-1] == "the coverage is below 1 %"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("test", "hello", "-k", "nowhere"), "no test has 'nowhere' in its name"),
        (("test", "hello", "--junit", "no/where.xml"), "cannot write no/where.xml"),
        (("test", "hello", "--store", "x", "--min-coverage", "1"), "leave out --store"),
        (("show", "hello", "--flow", "main"), "give --svg FILE or --mermaid"),
        (("show", "hello", "--flow", "mian", "--mermaid"), "it has main"),
    ],
)
def test_wrong_use_of_tests_and_pictures(shell: Shell, args: tuple[str, ...], words: str) -> None:
    """It says what to do instead."""
    shell("new", "hello")
    shell(*args, code=2)
    assert words in shell.err


def test_errors_of_flows_and_tests_stop_a_build(shell: Shell, folder: Path) -> None:
    """Unless the author does not want to know."""
    shell("new", "hello")
    (folder / "hello" / "tests" / "main.yaml").write_text("tests: {A: [{sya: hi}]}\n")
    assert shell("build", "hello", code=2) == ""
    assert "did you mean `say`?" in shell.err
    assert not (folder / "hello-0.1.0.hfpack").exists()
    error = shell.error("build", "hello")
    assert error["context"]["problem"] == "missing_field"
    assert shell("test", "hello", code=2) == ""
    assert shell("build", "hello", "--no-lint").startswith("sha256:")


def test_a_flow_is_drawn(shell: Shell, folder: Path) -> None:
    """As a Mermaid flowchart, or as an image."""
    shell("new", "hello")
    assert shell("show", "hello", "--mermaid").startswith("flowchart TD\n")
    shell("show", "hello", "--flow", "main", "--svg", "main.svg")
    assert (folder / "main.svg").read_text().startswith("<svg ")


def test_a_chat_with_a_pack_becomes_a_test(shell: Shell, folder: Path) -> None:
    """The terminal shows it as it shows other conversations, and the test passes."""
    pack = Path(__file__).parents[2] / "examples" / "packs" / "support"
    fakes = str(pack / "tests" / "orders.yaml")
    chat = ("-m", "holdfast.cli", "chat", str(pack), "--user", "ann")
    options = ("--fakes", fakes, "--record", "order.yaml")
    ended = python(*chat, *options, folder=folder, typed="hello\n1\nA17\n")
    assert ended.returncode == 0, ended.stderr
    assert "support:main: Order A17 is on its way.\n" in ended.stdout
    copy = folder / "copy"
    write_folder(copy, load_folder(pack).files)
    (copy / "tests" / "menu.yaml").write_text((folder / "order.yaml").read_text())
    assert "passed  tests/menu.yaml::order" in shell("test", "copy", "-k", "menu")
    again = python(*chat, "--record", "b.yaml", folder=folder, typed="")
    assert "choose a new --conversation" in again.stderr
    store = f"embedded://{folder / '.holdfast'}"
    lines = shell("test", str(pack), "-k", "two users", "--store", store).splitlines()
    assert lines[0].startswith("passed  tests/menu.yaml::Two users")
