"""The two tables in the database of the user."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import DateTime, LargeBinary, MetaData, String, Text, func
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from holdfast.model import bounds


class _Base(DeclarativeBase):
    """Both tables."""


class OutboxEntry(_Base):
    """A submission that was committed and has not reached Holdfast yet."""

    __tablename__ = "holdfast_outbox"

    #: Sorts roughly by time. Without another name, it is the idempotency key of the submission.
    id: Mapped[str] = mapped_column(String(bounds.NAME_CHARS), primary_key=True)
    #: The submission, as JSON.
    execution: Mapped[bytes] = mapped_column(LargeBinary)
    #: Why Holdfast refused it for good; such an entry stays until someone deletes or clears it.
    refused: Mapped[str | None] = mapped_column(Text, default=None)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())


class Effect(_Base):
    """A step whose effect was committed together with this row."""

    __tablename__ = "holdfast_effects"

    #: A digest of the execution, its run and the name of the step.
    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    execution: Mapped[str] = mapped_column(String(2 * bounds.ID_CHARS))
    step: Mapped[str] = mapped_column(String(bounds.STEP_NAME_CHARS))
    #: What the step returned, as JSON.
    result: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())


#: Create the tables with `metadata.create_all(engine)`, or in a migration.
metadata: MetaData = _Base.metadata
