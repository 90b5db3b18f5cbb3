"""What the bakery stores."""

from __future__ import annotations

from django.db import models


class Order(models.Model):
    """An order."""

    name = models.CharField(max_length=50, unique=True)
    execution_id = models.CharField(max_length=64, default="", blank=True)

    class Meta:
        """The app, also where nothing is installed."""

        app_label = "bakery"

    def __str__(self) -> str:
        return str(self.name)
