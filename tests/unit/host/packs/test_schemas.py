"""The published schemas agree with what packs and flows may say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from holdfast.errors import Conflict, InvalidInput
from holdfast.host import yaml_source
from holdfast.host.packs import load_folder, reader, schemas, starting
from tests.support.packs import FULL, HELPER, MAIN, PACK

PACK_SCHEMA: dict[str, Any] = json.loads(schemas.text("pack"))


def _fits(name: str, text: str) -> bool:
    validator = jsonschema.Draft202012Validator(json.loads(schemas.text(name)))
    return bool(validator.is_valid(yaml_source.load(text, "a.yaml").value))


@pytest.mark.parametrize("name", schemas.NAMES)
def test_schemas_are_schemas(name: str) -> None:
    """Of a draft that editors know."""
    jsonschema.Draft202012Validator.check_schema(json.loads(schemas.text(name)))


def test_the_schema_of_flows_is_that_of_the_language() -> None:
    """The published file is written from the model of flows."""
    module = pytest.importorskip("holdfast.host.flows.schema", reason="comes with the language")
    assert schemas.text("flow") == f"{json.dumps(module.flow_schema(), indent=2)}\n"


def test_good_files_fit_their_schemas() -> None:
    """Those that the reader accepts."""
    assert _fits("pack", PACK)
    assert _fits("pack", FULL)
    assert _fits("flow", MAIN)
    assert _fits("flow", HELPER)


@pytest.mark.parametrize(
    "extra",
    [
        *("wellcome: main", "busy: queued", "entry: 5", "components: [a]", "components: {a: {}}"),
        *("flows: main.yaml", "providers: [{type: a}]", "routing: {rules: [{when: 'true'}]}"),
        *("routing: {budget_ms: 0}", "schedules: [{cron: x}]", "secrets: [a b]"),
        "models: {m: {base_url: 'http://x', model: y}}",
    ],
)
def test_wrong_packs_do_not_fit_the_schema(extra: str) -> None:
    """An editor marks what the reader refuses."""
    assert not _fits("pack", f"id: a\nversion: 1.0.0\n{extra}\n")


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ((), reader.PACK_FIELDS),
        (("components", "additionalProperties"), reader.COMPONENT_FIELDS),
        (("components", "additionalProperties", "properties", "limits"), reader.LIMIT_FIELDS),
        (("providers", "items"), reader.PROVIDER_FIELDS),
        (("providers", "items", "properties", "identify"), reader.IDENTIFY_FIELDS),
        (("routing",), reader.ROUTING_FIELDS),
        (("routing", "properties", "rules", "items"), reader.RULE_FIELDS),
        (("schedules", "items"), reader.SCHEDULE_FIELDS),
        (("models", "additionalProperties"), reader.MODEL_FIELDS),
    ],
)
def test_the_schema_has_the_fields_of_the_reader(
    path: tuple[str, ...], fields: tuple[str, ...]
) -> None:
    """All of them and no others."""
    schema: Any = PACK_SCHEMA
    for part in ("properties", *path) if path else ():
        schema = schema[part]
    assert sorted(schema["properties"]) == sorted(fields)
    assert schema["additionalProperties"] is False


def test_a_new_pack_is_complete(tmp_path: Path) -> None:
    """It loads, and its files name their schemas in the first line."""
    folder = tmp_path / "hello"
    starting.write(folder, starting.files("hello", "hello"))
    pack = load_folder(folder)
    assert (pack.id, pack.version, pack.definition.entry) == ("hello", "0.1.0", "main")
    assert not any(name.startswith(".") for name in pack.files)
    kinds = {"pack.yaml": "pack", "flows/main.yaml": "flow", "tests/main.yaml": "test"}
    for name, kind in kinds.items():
        text = pack.files[name].decode()
        line = text.splitlines()[0]
        assert line.startswith("# yaml-language-server: $schema=")
        schema = (folder / name).parent / line.partition("=")[2]
        assert json.loads(schema.read_text("utf-8")) == json.loads(schemas.text(kind))
        assert _fits(kind, text)


def test_a_new_pack_needs_an_empty_place_and_a_good_id(tmp_path: Path) -> None:
    """Nothing is overwritten."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(Conflict):
        starting.write(tmp_path, starting.files("a", "a"))
    with pytest.raises(Conflict):
        starting.write(tmp_path / "file", starting.files("a", "a"))
    with pytest.raises(InvalidInput, match="cannot write"):
        starting.write(tmp_path / "file" / "a", starting.files("a", "a"))
    with pytest.raises(InvalidInput, match="lower-case"):
        starting.files("My Pack", "a")
