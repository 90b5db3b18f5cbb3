"""What can be wrong with a pack: a stable word for each, and what it means in a sentence."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NoReturn

from holdfast.errors import InvalidPack


class Problem(StrEnum):
    """The values of `InvalidPack.context["problem"]`."""

    # The archive as a file.
    NOT_AN_ARCHIVE = "not_an_archive"
    UNSUPPORTED_ARCHIVE = "unsupported_archive"
    DAMAGED_ARCHIVE = "damaged_archive"
    HEADER_MISMATCH = "header_mismatch"
    # Names of files, in an archive or a folder.
    ABSOLUTE_PATH = "absolute_path"
    UNSAFE_PATH = "unsafe_path"
    SYMLINK = "symlink"
    NOT_A_FILE = "not_a_file"
    DUPLICATE_FILE = "duplicate_file"
    CASE_COLLISION = "case_collision"
    UNEXPECTED_FILE = "unexpected_file"
    UNREADABLE_FILE = "unreadable_file"
    # Sizes.
    TOO_LARGE = "too_large"
    TOO_MANY_FILES = "too_many_files"
    BOMB = "bomb"
    # The manifest.
    NO_MANIFEST = "no_manifest"
    INVALID_MANIFEST = "invalid_manifest"
    MISSING_FILE = "missing_file"
    EXTRA_FILE = "extra_file"
    WRONG_DIGEST = "wrong_digest"
    # Signatures.
    INVALID_SIGNATURES = "invalid_signatures"
    WRONG_SIGNATURE = "wrong_signature"
    UNSIGNED = "unsigned"
    UNTRUSTED = "untrusted"
    # What the files say.
    NO_PACK_FILE = "no_pack_file"
    INVALID_YAML = "invalid_yaml"
    UNKNOWN_FIELD = "unknown_field"
    MISSING_FIELD = "missing_field"
    INVALID_FIELD = "invalid_field"
    UNKNOWN_NAME = "unknown_name"
    DUPLICATE_ID = "duplicate_id"
    # Components, when a host loads them.
    INVALID_COMPONENT = "invalid_component"
    UNTRUSTED_COMPONENT = "untrusted_component"


#: What each problem means; docs/packs.md has the same sentences.
MEANINGS: dict[Problem, str] = {
    Problem.NOT_AN_ARCHIVE: "the file is not a zip archive, or something follows its end",
    Problem.UNSUPPORTED_ARCHIVE: (
        "the archive uses a feature of zip that packs do not have: encryption, zip64, comments, "
        "extra fields, data descriptors, another compression than deflate"
    ),
    Problem.DAMAGED_ARCHIVE: "the archive is cut short, or the content of a file is damaged",
    Problem.HEADER_MISMATCH: (
        "the archive says two things about a file: its directory and the header of the file "
        "differ, files overlap, or there are bytes between them"
    ),
    Problem.ABSOLUTE_PATH: "the name of a file is absolute",
    Problem.UNSAFE_PATH: (
        "the name of a file leaves the pack (`..`), or has characters or parts that not every "
        "system can store"
    ),
    Problem.SYMLINK: "a file is a symbolic link",
    Problem.NOT_A_FILE: "an entry is neither a file nor a folder with files",
    Problem.DUPLICATE_FILE: "two files of the archive have the same name",
    Problem.CASE_COLLISION: "the names of two files differ only in case",
    Problem.UNEXPECTED_FILE: "a file is where packs have none",
    Problem.UNREADABLE_FILE: "a file or folder cannot be read",
    Problem.TOO_LARGE: "a file, all files together, or the archive exceeds its limit",
    Problem.TOO_MANY_FILES: "the pack has more files than allowed",
    Problem.BOMB: "a file of the archive expands far more than honest files do",
    Problem.NO_MANIFEST: "the archive has no manifest; `holdfast pack build` makes one",
    Problem.INVALID_MANIFEST: "the manifest has another form than `holdfast pack build` writes",
    Problem.MISSING_FILE: "the manifest lists a file that the archive does not have",
    Problem.EXTRA_FILE: "the archive has a file that the manifest does not list",
    Problem.WRONG_DIGEST: "a file has another content than the manifest says",
    Problem.INVALID_SIGNATURES: "the list of signatures is not what `holdfast pack sign` writes",
    Problem.WRONG_SIGNATURE: "a signature does not belong to this pack",
    Problem.UNSIGNED: "the pack has no signature, and unsigned packs are not allowed here",
    Problem.UNTRUSTED: "no signature of the pack is by a trusted key",
    Problem.NO_PACK_FILE: "there is no `pack.yaml`",
    Problem.INVALID_YAML: "a file is not YAML, or not the part of YAML that packs use",
    Problem.UNKNOWN_FIELD: "a file has a field that does not exist",
    Problem.MISSING_FIELD: "a field that must be given is missing",
    Problem.INVALID_FIELD: "a field has a value of the wrong type or form",
    Problem.UNKNOWN_NAME: (
        "a field names a flow, component, operation, secret or file that the pack does not have"
    ),
    Problem.DUPLICATE_ID: (
        "two things of a pack, or of a main pack and its overlays, have the same id"
    ),
    Problem.INVALID_COMPONENT: "a component does not compile, or is not one that the host can run",
    Problem.UNTRUSTED_COMPONENT: "a Python component is in a pack without a trusted signature",
}


def refuse(problem: Problem, message: str, **context: Any) -> NoReturn:
    """Raise InvalidPack."""
    raise InvalidPack(message, problem=problem.value, **context)
