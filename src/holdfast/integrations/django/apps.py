"""The Django app: finds tasks, and lets workers relay the outbox."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules

from holdfast.integrations.django.project import app
from holdfast.integrations.django.relay import Relay


class HoldfastConfig(AppConfig):
    """Holdfast."""

    name = "holdfast.integrations.django"
    label = "holdfast"
    verbose_name = "Holdfast"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Import the `tasks.py` of every installed app."""
        autodiscover_modules("tasks")
        app.serve(Relay(app))
