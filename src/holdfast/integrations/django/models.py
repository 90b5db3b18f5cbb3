"""The two tables in the database of the project, with the columns that SQLAlchemy users have."""

from __future__ import annotations

from django.db import models

from holdfast.model import bounds


class OutboxEntry(models.Model):
    """A submission that was committed and has not reached Holdfast yet."""

    #: Sorts roughly by time. Without another name, it is the idempotency key of the submission.
    id = models.CharField(max_length=bounds.NAME_CHARS, primary_key=True, editable=False)
    #: The submission, as JSON.
    execution = models.BinaryField()
    #: Why Holdfast refused it for good; such an entry stays until someone deletes or clears it.
    refused = models.TextField(null=True, blank=True, editable=False)  # noqa: DJ001 - as in SQLAlchemy
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        """The table."""

        db_table = "holdfast_outbox"
        ordering = ("id",)
        verbose_name = "outbox entry"
        verbose_name_plural = "outbox entries"

    def __str__(self) -> str:
        return str(self.id)


class Effect(models.Model):
    """A step whose effect was committed together with this row."""

    #: A digest of the execution, its run and the name of the step.
    key = models.CharField(max_length=64, primary_key=True, editable=False)
    execution = models.CharField(max_length=2 * bounds.ID_CHARS)
    step = models.CharField(max_length=bounds.STEP_NAME_CHARS)
    #: What the step returned, as JSON.
    result = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        """The table."""

        db_table = "holdfast_effects"

    def __str__(self) -> str:
        return f"{self.step} of {self.execution}"
