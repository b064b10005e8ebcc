"""Options that say which jobs are meant, shared by the commands that list and that change many."""

from __future__ import annotations

from typing import Annotated

import typer

from ...domain.job import JobStatus, JobType

StatusOption = Annotated[list[JobStatus] | None, typer.Option("--status", help="Only these; repeatable.")]
TypeOption = Annotated[list[JobType] | None, typer.Option("--type", help="Only these; repeatable.")]
TagOption = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="With any of these tags; repeatable.")
]
AllTagsOption = Annotated[
    list[str] | None, typer.Option("--tag-all", metavar="TAG", help="With every one of these tags.")
]
HandlerOption = Annotated[
    list[str] | None, typer.Option("--handler", metavar="NAME", help="With this handler; repeatable.")
]
KeyOption = Annotated[list[str] | None, typer.Option("--key", metavar="KEY", help="With this key; repeatable.")]
NameOption = Annotated[str | None, typer.Option("--name", metavar="TEXT", help="With this in the name.")]
CallerOption = Annotated[
    list[str] | None, typer.Option("--created-by", metavar="CALLER", help="Made by this caller; repeatable.")
]
DueOption = Annotated[str | None, typer.Option("--due-before", metavar="INSTANT", help="With a next run up to then.")]
