"""Holdfast beside your own database: submissions and effects that belong to its transactions."""

from holdfast.integrations.sqlalchemy.effects import transaction
from holdfast.integrations.sqlalchemy.outbox import submit
from holdfast.integrations.sqlalchemy.relay import Relay, relay
from holdfast.integrations.sqlalchemy.tables import metadata

__all__ = ["Relay", "metadata", "relay", "submit", "transaction"]
