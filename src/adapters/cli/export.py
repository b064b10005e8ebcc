"""`tocsin export`: jobs and event handlers as a file that `apply` takes."""

from __future__ import annotations

from typing import Annotated

import typer

from ...application.declared_handlers import DeclaredHandlers
from ...application.declared_jobs import DeclaredJobs
from .declarative.exporting import can_be_declared, exported
from .declarative.yaml_text import write_yaml
from .session import Session, remote
from .texts import counted

EXAMPLE = "Example: tocsin export > jobs.yaml"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export", epilog=EXAMPLE)(remote(export))


async def export(
    session: Session,
    *,
    scope: Annotated[str | None, typer.Option(help="Only the jobs that an apply of this scope made.")] = None,
) -> None:
    """
    Write jobs and event handlers as YAML, or with --json as JSON, that `tocsin apply` takes back unchanged.

    Left out are those without a key, by which they would be found again, and jobs that have ended.
    """
    async with session.connect() as scheduler:
        every = await DeclaredJobs(scheduler=scheduler).every(scope=scope)
        # Nothing tells whose an event handler is.
        rules = [] if scope else await DeclaredHandlers(scheduler=scheduler).every()
    jobs = [each for each in every if can_be_declared(each)]
    handlers = [each for each in rules if each.key is not None]
    document = exported(jobs, handlers, scope=scope)
    if session.output.for_people:
        typer.echo(write_yaml(document), nl=False)
    else:
        session.output.show(document, lambda _: "")
    if left := len(every) - len(jobs):
        session.output.note(f"{counted(left, 'job')} left out: without a key, or ended")
    if left := len(rules) - len(handlers):
        session.output.note(f"{counted(left, 'event handler')} left out: without a key")
