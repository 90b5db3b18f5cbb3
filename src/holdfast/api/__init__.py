"""The contract of Holdfast: one abstract class per noun, one noun per file.

`holdfast.engine` and its parts implement the nouns on the store itself, `holdfast.client` over
HTTP. Signatures, docstrings and errors are written here, once.
"""

from __future__ import annotations

from holdfast.api.api_keys import ApiKeys
from holdfast.api.archive import Archive
from holdfast.api.audit import Audit
from holdfast.api.beats import Beats
from holdfast.api.budgets import Budgets, Spending
from holdfast.api.changes import Changes
from holdfast.api.claimer import Claimer
from holdfast.api.engine import Engine
from holdfast.api.executions import Executions
from holdfast.api.feeds import Feeds
from holdfast.api.files import Files
from holdfast.api.graphs import Graphs
from holdfast.api.histories import Histories
from holdfast.api.keyring import SigningKeys
from holdfast.api.lanes import Lanes
from holdfast.api.operability import Operability
from holdfast.api.queues import Queues
from holdfast.api.quotas import Quotas
from holdfast.api.redactions import Redactions
from holdfast.api.rules import Rules
from holdfast.api.schedules import Schedules
from holdfast.api.sessions import Sessions
from holdfast.api.streams import Streams, Tail
from holdfast.api.tasks import Tasks
from holdfast.api.waitpoints import Waitpoints
from holdfast.api.workers import Workers
from holdfast.api.writer_leases import WriterLeases

__all__ = [
    "ApiKeys",
    "Archive",
    "Audit",
    "Beats",
    "Budgets",
    "Changes",
    "Claimer",
    "Engine",
    "Executions",
    "Feeds",
    "Files",
    "Graphs",
    "Histories",
    "Lanes",
    "Operability",
    "Queues",
    "Quotas",
    "Redactions",
    "Rules",
    "Schedules",
    "Sessions",
    "SigningKeys",
    "Spending",
    "Streams",
    "Tail",
    "Tasks",
    "Waitpoints",
    "Workers",
    "WriterLeases",
]
