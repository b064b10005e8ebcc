"""Options that say which jobs are meant, shared by the commands that list and that change many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from ...domain.errors import FieldError, InvalidInput
from ...domain.job import JobStatus, JobType
from ...ports.queries import JobFilter
from .instants import optional_bound


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsMeant:
    """The options; a job is meant if it passes all that are given."""

    status: Annotated[list[JobStatus] | None, typer.Option(help="Only these; repeatable.")] = None
    type: Annotated[list[JobType] | None, typer.Option(help="Only these; repeatable.")] = None
    tag: Annotated[list[str] | None, typer.Option(metavar="TAG", help="With any of these tags; repeatable.")] = None
    tag_all: Annotated[list[str] | None, typer.Option(metavar="TAG", help="With every one of these tags.")] = None
    handler: Annotated[list[str] | None, typer.Option(metavar="NAME", help="With this handler; repeatable.")] = None
    key: Annotated[list[str] | None, typer.Option(metavar="KEY", help="With this key; repeatable.")] = None
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="With this in the name.")] = None
    created_by: Annotated[list[str] | None, typer.Option(metavar="CALLER", help="Made by this caller; repeatable.")] = (
        None
    )
    due_before: Annotated[str | None, typer.Option(metavar="INSTANT", help="With a next run up to then.")] = None

    def query(self) -> JobFilter:
        """
        Say it as a filter.

        Raises:
            InvalidInput: a text is empty, as from a variable that is not set: it would mean every job; or the instant
                cannot be read.
        """
        if faults := list(self._faults()):
            raise InvalidInput(faults)
        return JobFilter(
            status=tuple(self.status or ()),
            type=tuple(self.type or ()),
            tags=tuple(self.tag or ()),
            tags_all=tuple(self.tag_all or ()),
            handler_name=tuple(self.handler or ()),
            key=tuple(self.key or ()),
            name_contains=self.name,
            created_by=tuple(self.created_by or ()),
            next_run_before=optional_bound(self.due_before, "next_run_before"),
        )

    def _faults(self) -> Iterator[FieldError]:
        texts: dict[str, Sequence[str] | None] = {
            "tag": self.tag,
            "tag_all": self.tag_all,
            "handler": self.handler,
            "key": self.key,
            "name": None if self.name is None else [self.name],
            "created_by": self.created_by,
        }
        for name, given in texts.items():
            if not all(text.strip() for text in given or ()):
                yield FieldError(name, "is empty; leave the option out to mean any")
