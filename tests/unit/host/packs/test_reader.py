"""pack.yaml: every field, its defaults, and what is wrong with a place and a suggestion."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import InvalidPack
from holdfast.host.packs import reader
from holdfast.host.packs.definition import Busy, ComponentKind, Definition
from holdfast.host.packs.fields import MOST_DEFECTS
from tests.support.packs import FULL, MAIN, PACK, files_of


def _read(pack: str, **flows: str) -> Definition:
    return reader.read(files_of(pack, **flows))


def _defects(pack: str, **flows: str) -> list[dict[str, Any]]:
    with pytest.raises(InvalidPack) as caught:
        _read(pack, **flows)
    defects: list[dict[str, Any]] = caught.value.context["defects"]
    assert caught.value.context["problem"] == defects[0]["problem"]
    return defects


def test_every_field_is_read() -> None:
    """And nothing of the file is lost."""
    found = _read(FULL)
    assert (found.id, found.version, found.entry) == ("support.eu", "1.2.0-rc.1+build.5", "main")
    assert sorted(found.flows) == ["helper", "main"]
    assert found.flows["helper"].internal
    orders = found.components["orders"]
    assert (orders.kind, orders.operations) == (ComponentKind.WASM, ("find", "cancel", "route"))
    assert (orders.limits.timeout_ms, orders.limits.memory_mb) == (10_000, 64)
    assert (orders.limits.fuel, orders.limits.output_kb) == (1_000_000, 128)
    assert found.providers[0].identify_headers == ("X-Team",)
    assert found.welcome == "helper"
    assert found.routing is not None
    assert [rule.dispatch for rule in found.routing.rules] == ["main", "other/flow", None, None]
    assert (found.routing.budget_ms, found.routing.on_error) == (100, "fail")
    assert found.busy is Busy.MERGE
    assert (found.schedules[0].cron, found.schedules[0].timezone) == ("0 8 * * 1", "Europe/Berlin")
    assert found.secrets == ("MODEL_KEY", "other.key")
    assert found.http_allow == ("api.example.org", "*.example.com:8443")
    assert found.requires == ("gpu",)
    assert found.models["small"].base_url == "http://localhost:8000/v1"
    assert found.shown()["flows"][0] == {
        "id": "main",
        "type": "messaging",
        "internal": False,
        "file": "flows/main.yaml",
    }


def test_what_is_omitted_has_its_default() -> None:
    """All flows, the only entry flow, no welcome, messages in a queue."""
    found = _read("id: a\nversion: 0.1.0\n")
    assert (found.entry, sorted(found.flows)) == ("main", ["helper", "main"])
    assert (found.welcome, found.routing, found.busy) == (None, None, Busy.QUEUE)


def test_several_entry_flows_have_no_default() -> None:
    """The pack names one, or a message does."""
    second = MAIN.replace("id: main", "id: second")
    assert _read("id: a\nversion: 0.1.0\n", second=second).entry is None


def test_flows_that_are_not_listed_do_not_count() -> None:
    """Even if they are broken."""
    pack = "id: a\nversion: 0.1.0\nflows: [main.yaml]\n"
    assert list(_read(pack, broken="[").flows) == ["main"]


@pytest.mark.parametrize(
    ("extra", "problem", "line", "words"),
    [
        ("wellcome: main", "unknown_field", 3, "did you mean `welcome`?"),
        ("zzz: main", "unknown_field", 3, "known are `busy`, `components`"),
        ("routing: {budget: 5}", "unknown_field", 3, "mean `budget_ms`?"),
        ("entry: mian", "unknown_name", 3, "did you mean `main`?"),
        ("entry: helper", "invalid_field", 3, "which is internal"),
        ("entry: 5", "invalid_field", 3, "quote it to make it text"),
        ("welcome: nothing", "unknown_name", 3, "the flow `nothing`"),
        ("flows: [mian.yaml]", "unknown_name", 3, "did you mean `main.yaml`?"),
        ("flows: [../../etc/passwd]", "unknown_name", 3, "does not have"),
        ("flows: [main.yaml, flows/main.yaml]", "duplicate_id", 3, "twice"),
        ("flows: main.yaml", "invalid_field", 3, "must be a list"),
        ("busy: queued", "invalid_field", 3, "did you mean `queue`?"),
        ("busy: [queue]", "invalid_field", 3, "must be queue or merge"),
        ("components: [a]", "invalid_field", 3, "must be a mapping"),
        ("components: {A: {kind: wasm}}", "invalid_field", 3, "lower-case"),
        ("components: {a: 5}", "invalid_field", 3, "must be a mapping"),
        ("components: {a: {}}", "missing_field", 3, "needs the field `kind`"),
        (
            "components: {a: {kind: wsm, source: b, operations: [x]}}",
            *("invalid_field", 3, "did you mean `wasm`?"),
        ),
        (
            "components: {a: {kind: wasm, source: components/order.wasm, operations: [x]}}",
            *("unknown_name", 3, "did you mean `components/orders.wasm`?"),
        ),
        (
            "components: {a: {kind: python, source: flows/main.yaml, operations: [x]}}",
            *("unknown_name", 3, "the file `flows/main.yaml`"),
        ),
        (
            "components: {a: {kind: http, source: 'ftp://x', operations: [x]}}",
            *("invalid_field", 3, "must be a URL"),
        ),
        (
            "components: {a: {kind: http, source: 'http://me:pw@x', operations: [x]}}",
            *("invalid_field", 3, "without a password"),
        ),
        (
            "components: {a: {kind: http, source: 'http://[x', operations: [x]}}",
            *("invalid_field", 3, "must be a URL"),
        ),
        (
            "components: {a: {kind: http, source: 'http://x', operations: []}}",
            *("invalid_field", 3, "must not be empty"),
        ),
        (
            "components: {a: {kind: http, source: 'http://x', operations: [x, x]}}",
            *("duplicate_id", 3, "twice"),
        ),
        (
            "components: {a: {kind: http, source: 'http://x', operations: [x], limits: {fuel: 0}}}",
            *("invalid_field", 3, "from 1 to"),
        ),
        (
            "components: {a: {kind: wasm, source: x, limits: {timeout: 10}, operations: [x]}}",
            *("unknown_name", 3, "the file `x`"),
        ),
        (
            "providers: [{type: a, component: b, operations: [c]}]",
            *("unknown_name", 3, "the component `b`"),
        ),
        (
            (
                "components: {c: {kind: http, source: 'http://x', operations: [send]}}\n"
                "providers: [{type: a, component: c, operations: [sent]}]"
            ),
            *("unknown_name", 4, "did you mean `send`?"),
        ),
        (
            (
                "components: {c: {kind: http, source: 'http://x', operations: [send]}}\n"
                "providers: [{type: a, component: c, operations: [send]},\n"
                "  {type: a, component: c, operations: [send]}]"
            ),
            *("duplicate_id", 5, "have the type `a`"),
        ),
        ("providers: [{type: a}]", "missing_field", 3, "needs the field"),
        ("providers: {type: a}", "invalid_field", 3, "must be a list"),
        ("routing: {rules: [{when: 'true'}]}", "invalid_field", 3, "exactly one of"),
        ("routing: {rules: [{dispatch: main}]}", "missing_field", 3, "`when`"),
        (
            "routing: {rules: [{when: 'true', dispatch: a, deny: b}]}",
            *("invalid_field", 3, "exactly one of"),
        ),
        (
            "routing: {rules: [{when: 'true', deny: b, entities: {}}]}",
            *("invalid_field", 3, "only fits `dispatch`"),
        ),
        ("routing: {rules: [{when: 'true', dispatch: a}]}", "unknown_name", 3, "flow `a`"),
        ("routing: {rules: [{when: 'true', dispatch: a/b/c}]}", "invalid_field", 3, "PACK/FLOW"),
        ("routing: {rules: [{when: 'true', dispatch: [a]}]}", "invalid_field", 3, "a text"),
        ("routing: {component: nope}", "unknown_name", 3, "the component `nope`"),
        ("routing: {budget_ms: 0}", "invalid_field", 3, "from 1 to 10000"),
        ("routing: {budget_ms: true}", "invalid_field", 3, "from 1 to 10000"),
        ("routing: {on_error: ignore}", "invalid_field", 3, "continue or fail"),
        ("schedules: [{flow: main, cron: '* * *'}]", "invalid_field", 3, "five fields"),
        ("schedules: [{flow: main, cron: '0 0 31 2 *'}]", "invalid_field", 3, "cron"),
        (
            "schedules: [{flow: main, cron: '0 0 * * *', timezone: Mars}]",
            *("invalid_field", 3, "timezone"),
        ),
        ("schedules: [{flow: mine, cron: '0 0 * * *'}]", "unknown_name", 3, "flow `mine`"),
        ("schedules: [{cron: '0 0 * * *'}]", "missing_field", 3, "`flow`"),
        ("secrets: [a b]", "invalid_field", 3, "must be a name"),
        ("secrets: {a: b}", "invalid_field", 3, "must be a list"),
        ("http_allow: ['https://a.example.org']", "invalid_field", 3, "must be a host"),
        ("http_allow: ['*']", "invalid_field", 3, "must be a host"),
        ("requires: ['a b']", "invalid_field", 3, "capability"),
        (
            "models: {m: {base_url: 'http://x', model: y, key_secret: Z}}",
            *("unknown_name", 3, "the secret `Z`"),
        ),
        ("models: {m: {base_url: 'http://x', model: y}}", "missing_field", 3, "`key_secret`"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    extra: str, problem: str, line: int, words: str
) -> None:
    """A sentence, a line, and where possible what to write instead."""
    defect = _defects(f"id: a\nversion: 1.0.0\n{extra}\n")[0]
    text = f"{defect['sentence']}; {defect['suggestion']}"
    assert (defect["problem"], defect["line"]) == (problem, line), text
    assert words in text


@pytest.mark.parametrize(
    ("pack", "words"),
    [
        ("version: 1.0.0", "needs the field `id`"),
        ("id: a", "needs the field `version`"),
        ("id: Support Desk\nversion: 1.0.0", "use `support-desk`"),
        ("id: a\nversion: 1.0", "quote it"),
        ("id: a\nversion: v1.0.0", "such as 1.0.0"),
        ("id: a\nversion: 01.0.0", "such as 1.0.0"),
        ("[]", "must be a mapping"),
        ("", "must be a mapping"),
    ],
)
def test_a_pack_has_an_id_and_a_version(pack: str, words: str) -> None:
    """Both in their form."""
    defect = _defects(pack)[0]
    assert words in f"{defect['sentence']}; {defect['suggestion']}"


@pytest.mark.parametrize("limit", ["timeout: 10", "timeout: 0s", "memory_mb: 5000", "output_kb: x"])
def test_limits_of_a_component_have_their_form(limit: str) -> None:
    """Durations with a unit, whole numbers in their bounds."""
    component = f"kind: http, source: 'http://x', operations: [x], limits: {{{limit}}}"
    defects = _defects(f"id: a\nversion: 1.0.0\ncomponents: {{a: {{{component}}}}}\n")
    assert [defect["problem"] for defect in defects] == ["invalid_field"]


def test_all_defects_are_told_at_once() -> None:
    """Sorted by place; the message has the first and says how many there are."""
    with pytest.raises(InvalidPack) as caught:
        _read("id: A\nversion: x\nbusy: y\n", broken="id: [", other="id: main\n")
    defects = caught.value.context["defects"]
    assert len(defects) == 5
    assert "(and 4 more)" in caught.value.message
    assert [defect["file"] for defect in defects][-3:] == ["pack.yaml"] * 3


def test_defects_without_end_are_cut_off() -> None:
    """A hostile file costs a moment, not minutes."""
    pack = "id: a\nversion: 1.0.0\n" + "".join(f"entri{n}: 1\n" for n in range(20_000))
    defects = _defects(pack)
    assert len(defects) == MOST_DEFECTS


@pytest.mark.parametrize(
    ("flow", "problem"),
    [
        ("id: main\n", "duplicate_id"),
        ("type: messaging\n", "missing_field"),
        ("id: x\ntype: mail\n", "invalid_field"),
        ("id: x\ninternal: yes\n", "invalid_field"),
        ("- 1\n", "invalid_field"),
        ("id: x\nid: y\n", "invalid_yaml"),
    ],
)
def test_the_head_of_a_flow_is_checked(flow: str, problem: str) -> None:
    """Its id, its type, and whether it is internal."""
    defects = _defects(PACK, other=flow)
    assert [defect["problem"] for defect in defects] == [problem]


def test_a_pack_without_pack_yaml_is_refused() -> None:
    """The message says how to begin."""
    with pytest.raises(InvalidPack, match="pack new") as caught:
        reader.read({"flows/main.yaml": MAIN.encode()})
    assert caught.value.context["problem"] == "no_pack_file"
