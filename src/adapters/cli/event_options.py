"""Options that say what an event handler is, shared by the commands that add and change one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from ...domain.event import EventHandlerMode
from .inputs import read_priority

ExpectedOption = Annotated[
    int | None,
    typer.Option("--expected-version", metavar="N", help="Change nothing if the event handler is at another version."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The options that say what an event handler is, beside what it does and how often."""

    name: Annotated[str | None, typer.Option(metavar="NAME", help="What people call it.")] = None
    key: Annotated[str | None, typer.Option(metavar="KEY", help="A name that no other event handler may have.")] = None
    filter: Annotated[
        str | None, typer.Option(metavar="CEL", help="True for what it acts upon: event.data.total > 100.")
    ] = None
    mode: Annotated[EventHandlerMode | None, typer.Option(help="sync: sending an event waits for what it does.")] = None
    priority: Annotated[
        str | None, typer.Option(metavar="N", help="0 to 100, or low, medium, high, critical; higher first.")
    ] = None

    def given(self) -> dict[str, Any]:
        """
        Give the fields that were named.

        Raises:
            InvalidInput: the priority is none.
        """
        named = {name: value for name, value in asdict(self).items() if value is not None}
        return named | ({} if self.priority is None else {"priority": read_priority(self.priority)})
