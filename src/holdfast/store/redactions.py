"""Redaction rules as they are stored: settings of the global partition, REDACT|TENANT|KIND|PATH."""

from __future__ import annotations

from holdfast.model import records
from holdfast.model.sight import RedactionRule
from holdfast.store.domain import Domain

_WORD = "redact"
_EVERY_TENANT = "*"


class Redactions(Domain):
    """Redaction rules, in the global partition."""

    async def put(self, rule: RedactionRule, *, wanted: bool) -> None:
        """Add or remove a rule."""
        value = "1" if wanted else ""
        await self._call.write("hf_admin_configure", self._store.global_tag, _name(rule), value)

    async def list(self) -> list[RedactionRule]:
        """Return all rules, in order."""
        (flat,) = await self._call.read("hf_admin_settings", self._store.global_tag)
        words = (name.decode().split("|") for name in records.pairs(flat))
        rules = [_rule(*parts) for word, *parts in words if word == _WORD]
        return sorted(rules, key=lambda rule: (rule.tenant or "", rule.kind, rule.path))


def _name(rule: RedactionRule) -> str:
    return "|".join((_WORD, rule.tenant or _EVERY_TENANT, rule.kind, rule.path))


def _rule(tenant: str, kind: str, path: str) -> RedactionRule:
    owner = None if tenant == _EVERY_TENANT else tenant
    return RedactionRule(path=path, kind=kind, tenant=owner)
