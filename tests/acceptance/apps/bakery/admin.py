"""The admin of the bakery."""

from __future__ import annotations

from django.contrib import admin

from holdfast.integrations.django import console_link
from tests.acceptance.apps.bakery.models import Order


@admin.register(Order)
class OrderAdmin(admin.ModelAdmin):
    """Orders, with links to their executions."""

    list_display = ("name", console_link("execution_id"))
