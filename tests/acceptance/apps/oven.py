"""Tasks that agents call: one whose first worker never finishes it, and one that waits."""

from __future__ import annotations

import os
import time
from pathlib import Path

from holdfast import App, Context, SyncContext

app = App()


@app.task
def bake(ctx: SyncContext, name: str) -> str:
    """Bake, if the oven was hot before; else heat it until someone kills this process."""
    ctx.step("mix", mixed)
    hot = Path(os.environ["OVEN"])
    if not hot.exists():
        hot.touch()
        while True:
            time.sleep(1)
    return f"baked {name}, mixed {len(Path(f'{hot}.mixed').read_text())}"


def mixed() -> None:
    """Count how often the dough was mixed."""
    with Path(f"{os.environ['OVEN']}.mixed").open("a") as out:
        out.write("x")


@app.task
async def ask(ctx: Context) -> str:
    """Ask a person."""
    return str(await ctx.wait_for("answer"))
