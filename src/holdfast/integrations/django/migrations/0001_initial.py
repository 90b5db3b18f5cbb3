"""Create the two tables."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """The outbox, and the effects of steps."""

    initial = True
    dependencies = ()
    operations = (
        migrations.CreateModel(
            name="OutboxEntry",
            fields=[
                (
                    "id",
                    models.CharField(
                        editable=False, max_length=128, primary_key=True, serialize=False
                    ),
                ),
                ("execution", models.BinaryField()),
                ("refused", models.TextField(blank=True, editable=False, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "verbose_name": "outbox entry",
                "verbose_name_plural": "outbox entries",
                "db_table": "holdfast_outbox",
                "ordering": ("id",),
            },
        ),
        migrations.CreateModel(
            name="Effect",
            fields=[
                (
                    "key",
                    models.CharField(
                        editable=False, max_length=64, primary_key=True, serialize=False
                    ),
                ),
                ("execution", models.CharField(max_length=512)),
                ("step", models.CharField(max_length=256)),
                ("result", models.BinaryField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={"db_table": "holdfast_effects"},
        ),
    )
