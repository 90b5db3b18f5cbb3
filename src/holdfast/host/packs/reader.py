"""From the files of a pack to its definition: every field checked, nothing ignored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from holdfast.errors import InvalidInput
from holdfast.host import yaml_source
from holdfast.host.flows.model import CONVERSING, FlowType
from holdfast.host.packs import paths
from holdfast.host.packs.definition import (
    IDENTIFY,
    ROUTE,
    ROUTING_BUDGET_MS,
    Busy,
    Component,
    ComponentKind,
    ComponentLimits,
    Definition,
    FlowFile,
    FlowSchedule,
    Model,
    Provider,
    Routing,
    Rule,
)
from holdfast.host.packs.fields import NAME, NAME_CHARS, Defects, closest
from holdfast.host.packs.problems import Problem, refuse
from holdfast.host.yaml_source import Node
from holdfast.model.timing import Timing

PACK_FIELDS = (
    *("id", "version", "entry", "flows", "components", "providers", "welcome", "routing"),
    *("busy", "schedules", "secrets", "http_allow", "requires", "models"),
)
COMPONENT_FIELDS = ("kind", "source", "operations", "limits")
LIMIT_FIELDS = ("timeout", "memory_mb", "fuel", "output_kb")
PROVIDER_FIELDS = ("type", "component", "operations", "identify")
IDENTIFY_FIELDS = ("headers",)
ROUTING_FIELDS = ("rules", "component", "budget_ms", "on_error")
RULE_FIELDS = ("when", "dispatch", "entities", "respond", "deny")
SCHEDULE_FIELDS = ("flow", "cron", "timezone")
MODEL_FIELDS = ("base_url", "model", "key_secret")

#: Semantic Versioning 2.0.
_NUMBER = r"(0|[1-9][0-9]{0,8})"
_PRE = r"(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
VERSION = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRE}(\.{_PRE})*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
)
VERSION_CHARS = 60
SECRET = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
#: What providers never see: credentials of callers, and headers of our own.
PRIVATE_HEADER = re.compile(r"(?i:(proxy-)?authorization|(set-)?cookie2?|x-holdfast-.*)")
CAPABILITY = re.compile(r"[A-Za-z0-9_.:@-]{1,100}")
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
HOST = re.compile(rf"(\*\.)?{_LABEL}(\.{_LABEL})*(:[0-9]{{1,5}})?")
_ROUTING_MS = 10_000


def read(files: Mapping[str, bytes]) -> Definition:
    """Return what the files of a pack say; raises InvalidPack with every defect."""
    if paths.PACK_FILE not in files:
        message = f"there is no {paths.PACK_FILE}; make a pack with `holdfast pack new`"
        refuse(Problem.NO_PACK_FILE, message, file=paths.PACK_FILE)
    defects = Defects()
    reader = _Reader(files, yaml_source.load(files[paths.PACK_FILE], paths.PACK_FILE), defects)
    definition = reader.definition()
    defects.finish()
    return definition


class _Reader:
    """Reads `pack.yaml` and the heads of the flows."""

    def __init__(self, files: Mapping[str, bytes], root: Node, defects: Defects) -> None:
        self._files = files
        self._root = root
        self._defects = defects
        self._flows: dict[str, FlowFile] = {}
        self._components: dict[str, Component] = {}
        self._secrets: tuple[str, ...] = ()
        self._start: str | None = None
        self._sources = frozenset(name for name in files if name.startswith("components/"))

    def definition(self) -> Definition:
        """Read all of it. After a defect the values are only there to find more defects."""
        root, defects = self._root, self._defects
        if not defects.mapping(root, "the pack", PACK_FIELDS):
            defects.finish()
        pack_id = defects.field(root, "the pack", "id", defects.name)
        version = defects.field(root, "the pack", "version", self._version)
        self._secrets = self._texts("secrets", SECRET, "must be a name of letters and digits")
        self._flows = self._read_flows()
        self._components = {one.name: one for one in self._named("components", self._component)}
        providers = tuple(self._listed("providers", self._provider))
        self._check_distinct("providers", "type")
        self._start = self._entry()
        return Definition(
            id=pack_id or "",
            version=version or "",
            entry=self._start,
            flows=self._flows,
            components=self._components,
            providers=providers,
            welcome=self._flow_named(root, "the pack", "welcome"),
            routing=defects.optional(root, "the pack", "routing", self._routing),
            busy=Busy(self._optional_choice("busy", [*Busy]) or Busy.QUEUE),
            schedules=tuple(self._listed("schedules", self._schedule)),
            secrets=self._secrets,
            http_allow=self._texts("http_allow", HOST, "must be a host such as api.example.org"),
            requires=self._texts("requires", CAPABILITY, "must be the name of a capability"),
            models={one.name: one for one in self._named("models", self._model)},
            node=root,
        )

    def _version(self, node: Node, what: str) -> str | None:
        text = self._defects.text(node, what)
        if text is not None and (not VERSION.fullmatch(text) or len(text) > VERSION_CHARS):
            self._defects.wrong(node, what, "must be a version such as 1.0.0")
            return None
        return text

    def _texts(self, key: str, pattern: re.Pattern[str], rule: str) -> tuple[str, ...]:
        check = self._defects.texts(self._defects.matching(pattern, rule))
        return self._defects.optional(self._root, "the pack", key, check) or ()

    def _optional_choice(self, key: str, choices: list[str]) -> str | None:
        check = self._defects.choice([str(choice) for choice in choices])
        return self._defects.optional(self._root, "the pack", key, check)

    def _listed(self, key: str, read: Callable[[Node, str], Any]) -> Iterator[Any]:
        """Yield what the items of a list of `pack.yaml` say."""
        node = self._root.get(key)
        if node is not None:
            for item, what in self._defects.items(node, f"`{key}`"):
                value = read(item, what)
                if value is not None:
                    yield value

    def _named(self, key: str, read: Callable[[str, Node, str], Any]) -> Iterator[Any]:
        """Yield what the entries of a mapping of `pack.yaml` say."""
        node = self._root.get(key)
        if node is None or not self._defects.mapping(node, f"`{key}`"):
            return
        for name, value in node.entries.items():
            what = f"`{name}` of `{key}`"
            if not NAME.fullmatch(name) or len(name) > NAME_CHARS:
                sentence = f"the name `{name[:60]}` must begin with a lower-case letter"
                place = node.keys[name].position
                self._defects.add(Problem.INVALID_FIELD, place, sentence)
            elif (read_value := read(name, value, what)) is not None:
                yield read_value

    def _check_distinct(self, key: str, field: str) -> None:
        node = self._root.get(key)
        seen: set[Any] = set()
        for item in node.items if node else ():
            value = item.get(field)
            if value is None or not isinstance(value.value, str):
                continue
            if value.value in seen:
                sentence = f"two of `{key}` have the {field} `{value.value}`"
                self._defects.add(Problem.DUPLICATE_ID, value.position, sentence)
            seen.add(value.value)

    # Flows.

    def _read_flows(self) -> dict[str, FlowFile]:
        flows: dict[str, FlowFile] = {}
        for path in self._flow_paths():
            try:
                node = yaml_source.load(self._files[path], path)
            except InvalidInput as error:
                self._add_error(error)
                continue
            flow = self._flow(path, node)
            if flow is None:
                continue
            if (other := flows.get(flow.id)) is not None:
                place = node.entries["id"].position
                sentence = f"the flow `{flow.id}` is also in {other.path}"
                self._defects.add(Problem.DUPLICATE_ID, place, sentence)
            flows.setdefault(flow.id, flow)
        return flows

    def _add_error(self, error: InvalidInput) -> None:
        """Note a file that is not YAML as a defect beside the others."""
        place = yaml_source.Position(
            error.context["file"], error.context["line"], error.context["column"]
        )
        sentence = error.message.removeprefix(f"{place}: ")
        self._defects.add(Problem.INVALID_YAML, place, sentence)

    def _flow_paths(self) -> list[str]:
        existing = [name for name in sorted(self._files) if name.startswith("flows/")]
        node = self._root.get("flows")
        if node is None:
            return existing
        listed: list[str] = []
        check = self._defects.texts(self._defects.text)
        for name in check(node, "`flows` of the pack") or ():
            path = name if name.startswith("flows/") else f"flows/{name}"
            place = next(item for item in node.items if item.value == name)
            if path not in existing:
                known = [one.removeprefix("flows/") for one in existing]
                sentence = f"`flows` names the file `{path[:100]}`, which the pack does not have"
                hint = closest(name.removeprefix("flows/"), known)
                self._defects.add(Problem.UNKNOWN_NAME, place.position, sentence, hint)
            elif path in listed:
                sentence = f"`flows` has the file `{path}` twice"
                self._defects.add(Problem.DUPLICATE_ID, place.position, sentence)
            else:
                listed.append(path)
        return listed

    def _flow(self, path: str, node: Node) -> FlowFile | None:
        """Return the head of a flow; the rest of it is checked by the language."""
        defects = self._defects
        if not defects.mapping(node, "the flow"):
            return None
        flow_id = defects.field(node, "the flow", "id", defects.name)
        kind = defects.optional(node, "the flow", "type", defects.choice([*map(str, FlowType)]))
        internal = defects.optional(node, "the flow", "internal", defects.boolean)
        if flow_id is None:
            return None
        return FlowFile(
            id=flow_id,
            path=path,
            type=FlowType(kind or FlowType.MESSAGING),
            internal=bool(internal),
            node=node,
        )

    def _entry(self) -> str | None:
        entries = [flow.id for flow in self._flows.values() if flow.is_entry]
        node = self._root.get("entry")
        if node is None:
            return entries[0] if len(entries) == 1 else None
        name = self._flow_named(self._root, "the pack", "entry")
        if name in self._flows and name not in entries:
            sentence = f"`entry` names the flow `{name}`, which is internal"
            self._defects.add(
                Problem.INVALID_FIELD, node.position, sentence, closest(str(name), entries)
            )
        return name

    def _flow_named(self, node: Node, what: str, key: str) -> str | None:
        name = self._defects.optional(node, what, key, self._defects.name)
        if name is not None:
            place = node.entries[key]
            self._defects.known(place, f"`{key}` of {what}", name, self._flows, "flow")
        return name

    # Components, providers, models.

    def _component(self, name: str, node: Node, what: str) -> Component | None:
        defects = self._defects
        if not defects.mapping(node, what, COMPONENT_FIELDS):
            return None
        kinds = [*map(str, ComponentKind)]
        kind = defects.field(node, what, "kind", defects.choice(kinds))
        source = defects.field(node, what, "source", defects.text)
        names = defects.texts(defects.name, empty=False)
        operations = defects.field(node, what, "operations", names)
        bounds = defects.optional(node, what, "limits", self._limits)
        if kind is None or source is None:
            return None
        self._check_source(node.entries["source"], what, ComponentKind(kind), source)
        return Component(
            name=name,
            kind=ComponentKind(kind),
            source=source,
            operations=operations or (),
            limits=bounds or ComponentLimits(),
        )

    def _check_source(self, node: Node, what: str, kind: ComponentKind, source: str) -> None:
        words = f"`source` of {what}"
        if kind is ComponentKind.HTTP:
            self._url(node, words)
            return
        self._defects.known(node, words, source, self._sources, "file")

    def _url(self, node: Node, what: str) -> str | None:
        text = self._defects.text(node, what)
        if text is None:
            return None
        try:
            parts = urlsplit(text)
            is_url = parts.scheme in {"http", "https"} and bool(parts.hostname)
            has_password = parts.username is not None or parts.password is not None
            _ = parts.port
        except ValueError:
            is_url = has_password = False
        if not is_url or has_password or not text.isprintable() or " " in text:
            rule = "must be a URL such as https://api.example.org/v1, without a password"
            self._defects.wrong(node, what, rule)
            return None
        return text

    def _limits(self, node: Node, what: str) -> ComponentLimits | None:
        defects = self._defects
        if not defects.mapping(node, what, LIMIT_FIELDS):
            return None
        return ComponentLimits(
            timeout_ms=defects.optional(node, what, "timeout", defects.duration_ms),
            memory_mb=defects.optional(node, what, "memory_mb", defects.integer(1, 4_096)),
            fuel=defects.optional(node, what, "fuel", defects.integer(1, 10**15)),
            output_kb=defects.optional(node, what, "output_kb", defects.integer(1, 65_536)),
        )

    def _provider(self, node: Node, what: str) -> Provider | None:
        defects = self._defects
        if not defects.mapping(node, what, PROVIDER_FIELDS):
            return None
        kind = defects.field(node, what, "type", defects.name)
        name = defects.field(node, what, "component", defects.name)
        names = defects.texts(defects.name, empty=False)
        operations = defects.field(node, what, "operations", names) or ()
        headers = defects.optional(node, what, "identify", self._identify)
        if kind is None or name is None:
            return None
        words = f"`component` of {what}"
        defects.known(node.entries["component"], words, name, self._components, "component")
        if "identify" in node.entries:
            self._needs_operation(node.entries["identify"], what, name, IDENTIFY)
        if name in self._components and "operations" in node.entries:
            known = frozenset(self._components[name].operations)
            for item, words in defects.items(node.entries["operations"], "`operations`"):
                if isinstance(item.value, str):
                    defects.known(item, f"{words} of {what}", item.value, known, "operation")
        return Provider(type=kind, component=name, operations=operations, identify_headers=headers)

    def _identify(self, node: Node, what: str) -> tuple[str, ...] | None:
        defects = self._defects
        if not defects.mapping(node, what, IDENTIFY_FIELDS):
            return None
        header = defects.matching(HEADER, "must be the name of a header")
        names = defects.field(node, what, "headers", defects.texts(header))
        for item, words in defects.items(node.entries["headers"], "`headers`") if names else ():
            if PRIVATE_HEADER.fullmatch(str(item.value)):
                defects.wrong(item, f"{words} of {what}", "must not be a header with credentials")
        return names

    def _model(self, name: str, node: Node, what: str) -> Model | None:
        defects = self._defects
        if not defects.mapping(node, what, MODEL_FIELDS):
            return None
        base_url = defects.field(node, what, "base_url", self._url)
        model = defects.field(node, what, "model", defects.text)
        key = defects.field(node, what, "key_secret", defects.text)
        if base_url is None or model is None or key is None:
            return None
        place = node.entries["key_secret"]
        defects.known(place, f"`key_secret` of {what}", key, self._secrets, "secret")
        return Model(name=name, base_url=base_url, model=model, key_secret=key)

    # Routing and schedules.

    def _routing(self, node: Node, what: str) -> Routing | None:
        defects = self._defects
        if not defects.mapping(node, what, ROUTING_FIELDS):
            return None
        rules = node.get("rules")
        component = defects.optional(node, what, "component", defects.name)
        if component is not None:
            words = f"`component` of {what}"
            place = node.entries["component"]
            defects.known(place, words, component, self._components, "component")
            self._needs_operation(place, words, component, ROUTE)
        self._routes_somewhere(node, what)
        budget = defects.optional(node, what, "budget_ms", defects.integer(1, _ROUTING_MS))
        on_error = defects.optional(node, what, "on_error", defects.choice(["continue", "fail"]))
        read = [self._rule(*item) for item in defects.items(rules, "`rules`")] if rules else []
        return Routing(
            rules=tuple(rule for rule in read if rule is not None),
            component=component,
            budget_ms=budget or ROUTING_BUDGET_MS,
            on_error=on_error or "continue",
        )

    def _needs_operation(self, node: Node, what: str, component: str, operation: str) -> None:
        """Note a component that lacks the operation that the host calls."""
        known = self._components.get(component)
        if known is not None and operation not in known.operations:
            sentence = f"{what}: `{component}` has no operation `{operation}`"
            suggestion = f"add `{operation}` to its operations"
            self._defects.add(Problem.UNKNOWN_NAME, node.position, sentence, suggestion)

    def _routes_somewhere(self, node: Node, what: str) -> None:
        """Note a routing without a conversation for the messages that continue."""
        entry = self._flows.get(self._start or "")
        if entry is None or entry.type not in CONVERSING:
            sentence = f"{what} needs an `entry` that is a conversation"
            self._defects.add(Problem.INVALID_FIELD, node.position, sentence)

    def _rule(self, node: Node, what: str) -> Rule | None:
        defects = self._defects
        if not defects.mapping(node, what, RULE_FIELDS):
            return None
        defects.field(node, what, "when", defects.text)
        given = [key for key in ("dispatch", "respond", "deny") if key in node.entries]
        if len(given) != 1:
            defects.wrong(node, what, "must have exactly one of dispatch, respond and deny")
            return None
        if "entities" in node.entries and given != ["dispatch"]:
            place = node.keys["entities"].position
            sentence = f"`entities` of {what} only fits `dispatch`"
            defects.add(Problem.INVALID_FIELD, place, sentence)
        defects.optional(node, what, "entities", defects.mapping)
        defects.text(node.entries[given[0]], f"`{given[0]}` of {what}")
        dispatch = self._dispatch(node, what) if given == ["dispatch"] else None
        return Rule(
            when=node.get("when") or node,
            dispatch=dispatch,
            entities=node.get("entities"),
            respond=node.get("respond"),
            deny=node.get("deny"),
        )

    def _dispatch(self, node: Node, what: str) -> str | None:
        place = node.entries["dispatch"]
        target = place.value
        if not isinstance(target, str):
            return None
        pack, slash, flow = target.rpartition("/")
        words = f"`dispatch` of {what}"
        if not NAME.fullmatch(flow) or (slash and not NAME.fullmatch(pack)):
            self._defects.wrong(place, words, "must be FLOW or PACK/FLOW")
        elif not slash or pack == self._root.value.get("id"):
            self._defects.known(place, words, flow, self._flows, "flow")
            if flow in self._flows and self._flows[flow].type not in CONVERSING:
                self._defects.wrong(place, words, "must be a flow that has a conversation")
        return target

    def _schedule(self, node: Node, what: str) -> FlowSchedule | None:
        defects = self._defects
        if not defects.mapping(node, what, SCHEDULE_FIELDS):
            return None
        if "flow" not in node.entries:
            defects.missing(node, what, "flow")
        flow = self._flow_named(node, what, "flow")
        cron = defects.field(node, what, "cron", defects.text)
        timezone = defects.optional(node, what, "timezone", defects.text) or "UTC"
        if flow is None or cron is None:
            return None
        try:
            Timing(cron=cron, timezone=timezone)
        except InvalidInput as error:
            field = "timezone" if error.context.get("field") == "timezone" else "cron"
            place = node.entries.get(field, node)
            sentence = f"the schedule is not valid: {error.message}"
            defects.add(Problem.INVALID_FIELD, place.position, sentence)
        return FlowSchedule(flow=flow, cron=cron, timezone=timezone)
