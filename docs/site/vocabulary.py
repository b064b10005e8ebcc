"""The words that the code fixes: error codes, states, reasons, figures and the names of events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, TypeVar

from docs.site.markdown import code, first_sentence, plain, table
from tocsin.adapters.cli.exits import MEANINGS, exit_code
from tocsin.adapters.http import refusals
from tocsin.adapters.http.problems import STATUSES
from tocsin.domain import errors
from tocsin.domain.errors import TocsinError
from tocsin.domain.execution import EXECUTION_TRANSITIONS, SkipReason
from tocsin.domain.facts import FACTS
from tocsin.domain.job import JOB_TRANSITIONS
from tocsin.ports.metrics import BUCKETS, METRICS

State = TypeVar("State", bound=StrEnum)

ERRORS: Final = """\
# Errors

Every error has a code, which API, command line and library share and which stays the same from version to version; the
words beside it may change. Over HTTP it is `code` of a problem document, and the members beside it say what the words
say. In process it is the exception of that name, all of them below `tocsin.TocsinError`. What has no status is never
answered: it is the `error_type` of an attempt.

"""
STATES: Final = """\
# States

Whatever is not in these tables does not happen: a change that asks for it is refused with `INVALID_TRANSITION`, and the
record stays as it is.

"""
FIGURES: Final = """\
# Metrics, spans and events

[What Tocsin tells of itself](../observability.md) says how they hang together and where they go.

## Metrics

`/metrics` has them in Prometheus' format, in which dots become `_`, seconds get `_seconds` and a counter `_total`.

"""
SPANS: Final = """\
## Spans

| span | kind | stands for |
|---|---|---|
| `METHOD /route` | server | a request to the API |
| `publish NAME` | producer | an event |
| `create HANDLER` | producer | an execution: recorded once it is committed |
| `process HANDLER` | consumer | an attempt; one that follows others is linked to the first |
| `METHOD` | client | a call that a handler of type http makes |

`HANDLER` is the name of a function, else the type (`http`, `command`).

## Tocsin's own events

They go to [event handlers](../events.md#tocsins-own-events), to `tocsin watch`, and to a
[Redis Stream](../event-streams.md#out).

"""
MEANING: Final[Mapping[SkipReason, str]] = {
    SkipReason.OVERLAP: "all slots of the job were taken, and `overlap_policy` says that it is then skipped",
    SkipReason.MISFIRE: "it was found later than the grace allows, and `misfire_policy` says that it is then skipped",
    SkipReason.WINDOW: "it was older than `catchup_window_seconds`, or beyond `max_catchup`",
    SkipReason.CALENDAR: "kept for calendars, which there are none of yet",
    SkipReason.CONCURRENCY: "kept for limits beyond that of one job",
    SkipReason.QUOTA: "kept for limits of a tenant",
    SkipReason.SUPERSEDED: "a newer nominal time of the same job took its place",
    SkipReason.DST_GAP: "kept for schedules that leave out wall times which do not exist",
}


def errors_page() -> str:
    """Write the page of error codes and exit codes."""
    rows = (
        (code(each.code), _status(each), str(int(exit_code(each.__new__(each)))), first_sentence(each.__doc__))
        for each in _errors()
    )
    exits = ((str(int(each)), plain(meaning)) for each, meaning in MEANINGS)
    return (
        ERRORS
        + table(("code", "HTTP", "exit", ""), rows)
        + "## Exit codes of the command line\n\n"
        + table(("exit", ""), exits)
    )


def states_page() -> str:
    """Write the page of states and reasons."""
    return (
        STATES
        + "## Of an execution\n\n"
        + _steps(EXECUTION_TRANSITIONS)
        + "## Of a job\n\n"
        + _steps(JOB_TRANSITIONS)
        + "## Why a nominal time was skipped\n\n"
        + table(("reason", ""), ((code(reason), plain(MEANING[reason])) for reason in SkipReason))
    )


def figures_page() -> str:
    """Write the page of metrics, spans and events."""
    rows = (
        (code(metric), each.kind, plain(each.unit), ", ".join(map(code, each.labels)), plain(each.description))
        for metric, each in METRICS.items()
    )
    edges = ", ".join(f"{edge:g}" for edge in BUCKETS)
    facts = "".join(f"- `{fact}`\n" for fact in sorted(FACTS))
    return FIGURES + table(("metric", "kind", "unit", "labels", ""), rows) + f"Buckets: {edges}.\n\n" + SPANS + facts


def _errors() -> Iterator[type[TocsinError]]:
    known = [each for module in (errors, refusals) for each in vars(module).values() if _is_error(each)]
    own = {each.code: each for each in reversed(known) if "code" in vars(each) and each is not TocsinError}
    return iter(sorted(own.values(), key=lambda each: each.code))


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, TocsinError)


def _status(error: type[TocsinError]) -> str:
    if error is refusals.Internal:
        return "500"
    return next((str(int(STATUSES[kind])) for kind in error.__mro__ if kind in STATUSES), "")


def _steps(transitions: Mapping[State, frozenset[State]]) -> str:
    rows = (
        (code(state), ", ".join(map(code, _in_order(transitions, after))) or "none")
        for state, after in transitions.items()
    )
    return table(("from", "to"), rows)


def _in_order(transitions: Mapping[State, frozenset[State]], states: frozenset[State]) -> list[State]:
    return [state for state in transitions if state in states]
