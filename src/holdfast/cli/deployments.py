"""`holdfast deployments`: what runs where: list, show, create, set, delete, events, explain."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.deployment_options import (
    DeploymentId,
    EnvOption,
    OneDeployment,
    PageOfEnv,
    TenantOption,
    ref,
)
from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.bundles import spread
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption, WhoseOption
from holdfast.model.deployments import Deployment, DeploymentEvent, NewDeployment, Split
from holdfast.model.ids import new_id

app: typer.Typer = typer.Typer(cls=Noun)


@app.command()
@spread
def ls(options: PageOfEnv) -> None:
    """List the deployments of an env."""
    page = opening.ask(
        options.store,
        lambda engine: engine.deployments.list(
            options.env, tenant=options.tenant, limit=options.limit, cursor=options.cursor
        ),
    )
    if options.as_json:
        output.emit(page)
        return
    rows = [
        (one.id, one.tenant, one.pack or one.app, len(one.served), shares(one.split))
        for one in page.items
    ]
    columns = ("deployment", "tenant", "runs", "loaded", "split")
    output.show_table(columns, rows, nothing=f"no deployments in {options.env}")
    if page.next_cursor is not None:
        output.note(f"more: --cursor {page.next_cursor}")


def shares(split: Split) -> str:
    """Return a split as people read it."""
    parts = [f"{entry.revision} {entry.weight_bps / 100:g} %" for entry in split.entries]
    return ", ".join(parts) or "routes nowhere"


@app.command()
@spread
def show(target: OneDeployment) -> None:
    """Show a deployment, its split, and what needs each of its revisions."""
    found = opening.ask(target.store, lambda engine: engine.deployments.get(target.ref))
    if target.as_json:
        output.emit(found)
        return
    runs = f"pack {found.pack}" if found.pack else f"app {found.app}"
    output.say(f"deployment  {found.id}   env {found.env}   tenant {found.tenant}   {runs}")
    where = [*found.hosts, *found.path_prefixes]
    output.say(f"routes      {', '.join(where) or 'any host and path'}")
    output.say(f"split       generation {found.split.generation}: {shares(found.split)}")
    show_revisions(found)


def show_revisions(deployment: Deployment) -> None:
    """Print the revisions of a deployment as a table."""
    rows = [
        (
            one.id,
            one.lifecycle,
            one.running,
            one.waiting,
            times.ago(one.oldest_wait) if one.oldest_wait else None,
            times.ago(one.staged_at),
        )
        for one in deployment.revisions
    ]
    columns = ("revision", "lifecycle", "running", "waiting", "oldest wait", "staged")
    output.show_table(columns, rows, nothing="no revisions")


@app.command()
def create(
    deployment: Annotated[
        str | None,
        typer.Argument(
            metavar="[DEPLOYMENT]", help="The id of the deployment.", show_default="generated"
        ),
    ] = None,
    *,
    pack: Annotated[str | None, typer.Option("--pack", help="The id of the pack.")] = None,
    app_name: Annotated[
        str | None, typer.Option("--app", help="The name of the conversation of an app.")
    ] = None,
    host: Annotated[
        list[str] | None, typer.Option("--host", help="A host name that it answers. Repeatable.")
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Option("--path", help="A path that it answers, with all below. Repeatable."),
    ] = None,
    env: EnvOption = "local",
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a deployment of a pack or an app. Safe to repeat."""
    new = NewDeployment(
        env=env,
        id=deployment or new_id(),
        tenant=tenant,
        pack=pack,
        app=app_name,
        hosts=tuple(host or ()),
        path_prefixes=tuple(path or ()),
    )
    found, created = opening.ask(store, lambda engine: engine.deployments.create(new), create=True)
    word = "created" if created else "exists:"
    output.answer(found, f"{word} deployment {found.id} in {env}", as_json=as_json)


@app.command("set")
def set_(
    deployment: DeploymentId,
    *,
    restart_text: Annotated[
        str,
        typer.Option(
            "--restart-text", help="What users read when an overdue drain ends a conversation."
        ),
    ],
    env: EnvOption = "local",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set what users read when an overdue drain ends their conversation."""
    named = ref(deployment, env, tenant)
    found = opening.ask(
        store, lambda engine: engine.deployments.set_restart_text(named, restart_text)
    )
    output.answer(found, f"deployment {found.id} says: {found.restart_text}", as_json=as_json)


@app.command()
@spread
def delete(target: OneDeployment) -> None:
    """Delete a deployment that hosts do not serve, with its revisions and schedules."""
    opening.ask(target.store, lambda engine: engine.deployments.delete(target.ref))
    output.answer(
        {"id": target.deployment, "deleted": True},
        f"deployment {target.deployment} is deleted",
        as_json=target.as_json,
    )


@app.command()
def explain(
    deployment: DeploymentId,
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The id of the session.")],
    *,
    env: EnvOption = "local",
    tenant: TenantOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain to which revision the next message of a session would go."""
    named = ref(deployment, env, tenant)
    found = opening.ask(store, lambda engine: engine.deployments.explain(named, session))
    if as_json:
        output.emit(found)
        return
    output.say(f"{found.revision or 'no revision'}, by {found.reason}")
    for step in found.steps:
        output.say(f"- {step}")


@app.command()
def events(
    deployment: DeploymentId,
    *,
    env: EnvOption = "local",
    tenant: TenantOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many.")] = 50,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what happened to a deployment and who did it, the newest first."""
    named = ref(deployment, env, tenant)
    found = opening.ask(store, lambda engine: engine.deployments.events(named, limit=limit))
    if as_json:
        output.emit({"items": found})
        return
    rows = [(times.ago(one.at), one.event, _about(one), one.by or None) for one in found]
    output.show_table(("when", "event", "about", "by"), rows, nothing="nothing has happened")


def _about(event: DeploymentEvent) -> str | None:
    if event.revision is not None:
        before = f", was {event.before}" if event.before else ""
        return f"revision {event.revision}{before}"
    if event.generation is not None:
        back = f", as generation {event.to}" if event.to else ""
        return f"generation {event.generation}{back}"
    return None
