"""The settings of the bakery, with the database of the environment."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

SECRET_KEY = "of tests"  # noqa: S105 - of tests
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ROOT_URLCONF = "tests.acceptance.apps.bakery.urls"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "holdfast.integrations.django",
    "tests.acceptance.apps.bakery",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
HOLDFAST: dict[str, Any] = {"CONSOLE": "https://holdfast.example/", "RELAY_EVERY": 0.05}


def database(address: str) -> dict[str, Any]:
    """Return the settings of a database: of a file, or of a PostgreSQL at a socket."""
    if not address.startswith("postgresql"):
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": address, "OPTIONS": {"timeout": 30}}
    url = urlsplit(address)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": url.path[1:],
        "USER": url.username,
        "HOST": url.query.removeprefix("host="),
    }


DATABASES = {"default": database(os.environ.get("BAKERY_DATABASE", "bakery.db"))}
