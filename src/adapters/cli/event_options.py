"""Options that say what an event handler is, shared by the commands that add and change one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ...domain.event import EventHandlerMode
from .inputs import read_priority

NameOption = Annotated[str | None, typer.Option("--name", metavar="NAME", help="What people call it.")]
KeyOption = Annotated[
    str | None, typer.Option("--key", metavar="KEY", help="A name that no other event handler may have.")
]
FilterOption = Annotated[
    str | None, typer.Option("--filter", metavar="CEL", help="True for what it acts upon: event.data.total > 100.")
]
ModeOption = Annotated[
    EventHandlerMode | None, typer.Option("--mode", help="sync: sending an event waits for what it does.")
]
PriorityOption = Annotated[
    str | None, typer.Option("--priority", metavar="N", help="0 to 100, or low, medium, high, critical; higher first.")
]
DedupeOption = Annotated[
    str | None, typer.Option("--dedupe", metavar="LENGTH", help="Leave out repetitions within 1h.")
]
RateLimitOption = Annotated[
    str | None, typer.Option("--rate-limit", metavar="N/LENGTH", help="Leave out what is beyond 100/1h.")
]
ThrottleOption = Annotated[
    str | None, typer.Option("--throttle", metavar="N/LENGTH", help="Delay what is beyond 5/1m.")
]
DebounceOption = Annotated[
    str | None,
    typer.Option("--debounce", metavar="LENGTH", help="Act once it was quiet for 10s; 10s/5m: 5m at the latest."),
]
BatchOption = Annotated[
    str | None,
    typer.Option("--batch", metavar="N/LENGTH", help="Act upon several at once: 50/10s, 50 or those of 10s."),
]
FlowKeyOption = Annotated[
    str | None, typer.Option("--flow-key", metavar="CEL", help="Each of these for itself: event.data.customer.")
]
ExpectedOption = Annotated[
    int | None,
    typer.Option("--expected-version", metavar="N", help="Change nothing if the event handler is at another version."),
]


def named(*, priority: str | None = None, **fields: object) -> dict[str, Any]:
    """Give the fields that were named."""
    given = {name: value for name, value in fields.items() if value is not None}
    return given | ({} if priority is None else {"priority": read_priority(priority)})
