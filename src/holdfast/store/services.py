"""The status reports of processes that run services."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.model.services import ServiceProcess, ServiceStatus
from holdfast.store.domain import Domain


class Services(Domain):
    """Reports, each kept until it expires."""

    async def report(self, process: str, services: Sequence[ServiceStatus], ttl_ms: int) -> None:
        """Store the status of a process's services."""
        text = msgspec.json.encode(services)
        await self._call.write(
            "hf_service_report", self._store.global_tag, process, str(ttl_ms), text
        )

    async def forget(self, process: str) -> None:
        """Remove a process that ends."""
        await self._call.write("hf_service_report", self._store.global_tag, process, "0", "")

    async def list(self) -> list[ServiceProcess]:
        """Return the processes that run services, by name."""
        flat = await self._call.read("hf_service_list", self._store.global_tag)
        reports = [
            ServiceProcess(
                name=name.decode(),
                services=msgspec.json.decode(text, type=tuple[ServiceStatus, ...]),
            )
            for name, text in zip(flat[::2], flat[1::2], strict=True)
        ]
        return sorted(reports, key=lambda report: report.name)
