"""Holdfast in a project of Django.

    INSTALLED_APPS = [..., "holdfast.integrations.django"]
    HOLDFAST = {"STORE": "valkey://127.0.0.1:6379"}

Tasks are declared with `@app.task` in the `tasks.py` of any installed app. `manage.py
holdfast_worker` runs them.
"""

from holdfast.integrations.django.console import console_link, console_url
from holdfast.integrations.django.effects import transaction
from holdfast.integrations.django.project import app
from holdfast.integrations.django.relay import Relay, relay
from holdfast.integrations.django.submitting import submit, submit_on_commit

__all__ = [
    "Relay",
    "app",
    "console_link",
    "console_url",
    "relay",
    "submit",
    "submit_on_commit",
    "transaction",
]
