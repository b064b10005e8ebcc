from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp.test_utils import TestServer

from tocsin.adapters.cli.event_lines import LONGEST, EventLine, read_events
from tocsin.adapters.cli.event_sending import BATCH
from tocsin.adapters.http import HttpScheduler, Node, create_app
from tocsin.domain.errors import FieldError, InvalidEvent, ServerUnreachable
from tocsin.domain.event import NewEvent
from tocsin.ports.event_requests import EventOutcome
from tocsin.ports.scheduler import IScheduler

from .conftest import SERVER, CommandLine

SEND = ("events", "send", "--file", "-")
PLAIN = {
    "name": "order.created",
    "data": {"id": 7},
    "source": "shop",
    "subject": "order/7",
    "time": "2025-12-31T23:00:00Z",
    "idempotency_key": "order-7",
    "correlation_id": "basket-1",
    "attributes": {"region": "north"},
    "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
}
CLOUD = {"specversion": "1.0", "id": "7", "source": "/shop", "type": "order.paid", "data": {"id": 7}, "region": "north"}


def lines(*documents: object) -> str:
    return "".join(f"{json.dumps(each)}\n" for each in documents)


def events(tocsin: CommandLine) -> Any:  # noqa: ANN401 - a JSON list
    return tocsin("events", "list", "--limit", "250", "--json").json["items"]


def test_lines_are_plain_events_or_cloudevents(tocsin: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(f"\n{lines(PLAIN)}  \r\n{lines(CLOUD).strip()}", "utf-8")
    tocsin("events", "on", "order.paid", "--call", "tocsin.noop")
    ended = tocsin("events", "send", "--file", f"{tmp_path}/events.jsonl")
    paid, created = events(tocsin)

    assert (ended.code, ended.out) == (0, "2 sent, 1 matched, 0 duplicates, 0 refused\n")
    assert ended.err == ""
    assert (paid["name"], paid["origin"], paid["attributes"]) == ("order.paid", "cloudevents", {"region": "north"})
    assert (created["subject"], created["time"]) == ("order/7", "2025-12-31T23:00:00Z")
    assert created["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736"


def test_the_same_file_again_happens_once(tocsin: CommandLine) -> None:
    tocsin("events", "on", "order.*", "--call", "tocsin.noop")
    tocsin(*SEND, stdin=lines(PLAIN, CLOUD))
    again = tocsin(*SEND, "--json", stdin=lines(PLAIN, CLOUD))

    assert again.json == {"sent": 2, "matched": 0, "duplicates": 2, "refused": 0, "line": 2, "refusals": []}
    assert len(events(tocsin)) == 2


def test_a_bad_line_is_told_with_its_number_and_field_and_the_rest_is_sent(tocsin: CommandLine) -> None:
    bad = ["{", "[]", '{"name": "a b"}', '{"nam": "a"}', '{"specversion": "1.0", "type": "a"}']
    ended = tocsin(*SEND, stdin=lines({"name": "a"}) + "\n".join(bad) + "\n" + lines({"name": "z"}))

    assert ended.code == 6
    assert ended.out == "2 sent, 0 matched, 0 duplicates, 5 refused\n"
    assert [each["name"] for each in events(tocsin)] == ["z", "a"]
    assert [line.partition(" must")[0].partition(" is")[0] for line in ended.err.splitlines()] == [
        "line 2: event:",
        "line 3: event:",
        "line 4: name:",
        "line 5: nam:",
        "line 5: name:",
        "line 6: id:",
        "line 6: source:",
    ]


def test_refused_lines_are_told_as_json(tocsin: CommandLine) -> None:
    ended = tocsin(*SEND, "--json", stdin='{"name": "a", "time": "soon"}\n')

    assert (ended.code, ended.err) == (6, "")
    assert ended.json["refusals"] == [
        {
            "line": 1,
            "errors": [
                {
                    "field": "time",
                    "message": "must be an instant with its UTC offset, such as 2026-01-31T08:00:00Z",
                }
            ],
        }
    ]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ('{"name": "a", "time": "2026-01-01T00:00:00"}', "time"),
        ('{"name": "a", "time": 7}', "time"),
        ('{"name": 7}', "name"),
        ('{"name": null}', "name"),
        ('{"name": "a", "source": 7}', "source"),
        ('{"name": "a", "attributes": 7}', "attributes"),
        ('{"name": "a", "attributes": {"A": 1}}', "attributes"),
        ('{"name": "a", "origin": "fact"}', "origin"),
        ('{"name": "tocsin.job.created"}', "name"),
        ('{"name": "a", "name": "b"}', "event"),
        ('{"name": "a", "data": NaN}', "event"),
        ("[" * 100_000, "event"),
        ("\udcff", "event"),
    ],
)
def test_a_line_that_is_no_event_is_refused_naming_the_field(tocsin: CommandLine, line: str, field: str) -> None:
    ended = tocsin(*SEND, "--json", stdin=line.encode("utf-8", "surrogateescape"))

    assert ended.code == 6
    assert [each["errors"][0]["field"] for each in ended.json["refusals"]] == [field]


def test_a_line_of_any_length_is_passed_over_without_being_kept() -> None:
    raw = io.BytesIO(b'"' + b"x" * (3 * LONGEST) + b'"\n{"name": "a"}\n')
    refused, sound = read_events(raw)

    assert refused == EventLine(line=1, errors=(FieldError("event", f"must have at most {LONGEST} bytes"),))
    assert sound == EventLine(line=2, event=NewEvent(name="a"))


def test_a_last_line_of_any_length_is_refused_as_well() -> None:
    (refused,) = read_events(io.BytesIO(b"x" * (2 * LONGEST)))

    assert refused is not None
    assert (refused.line, refused.event) == (1, None)


def test_what_came_through_a_pipe_does_not_wait_for_what_comes_next() -> None:
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb") as pipe, os.fdopen(writes, "wb", buffering=0) as producer:
        events = read_events(pipe)
        producer.write(b'{"name": "a"}\n{"name":')
        first, pause = next(events), next(events)
        producer.write(b' "b"}')
        producer.close()
        (last,) = events

    assert (first, pause, last) == (
        EventLine(line=1, event=NewEvent(name="a")),
        None,
        EventLine(line=2, event=NewEvent(name="b")),
    )


def test_a_malformed_traceparent_in_a_line_counts_for_nothing() -> None:
    (read,) = read_events(io.BytesIO(b'{"name": "a", "traceparent": "x", "tracestate": 7}'))

    assert read == EventLine(line=1, event=NewEvent(name="a"))


@dataclass
class Gate:
    """A scheduler that notes the sizes of batches, refuses those with one event, and goes away after some."""

    behind: IScheduler
    sizes: list[int]
    refuses: str = ""
    answers: int = sys.maxsize

    async def trigger_events(self, events: Sequence[NewEvent]) -> Sequence[EventOutcome]:
        if len(self.sizes) == self.answers:
            raise ServerUnreachable(f"no server answers at {SERVER}")
        self.sizes.append(len(events))
        if any(event.name == self.refuses for event in events):
            raise InvalidEvent.of("data", "is too much")
        return await self.behind.trigger_events(events)


def gated(tocsin: CommandLine, *, refuses: str = "", answers: int = sys.maxsize) -> list[int]:
    """Have commands go through a gate; answer where it notes sizes."""
    sizes: list[int] = []

    @asynccontextmanager
    async def connect(server: str) -> AsyncIterator[IScheduler]:
        async with tocsin.connect(server) as scheduler:
            yield cast("IScheduler", Gate(scheduler, sizes, refuses, answers))

    tocsin.factories = replace(tocsin.factories, connect=connect)
    return sizes


def test_a_long_file_goes_in_batches(tocsin: CommandLine) -> None:
    sizes = gated(tocsin)
    ended = tocsin(*SEND, stdin=lines(*({"name": "a", "data": number} for number in range(2 * BATCH + 1))))

    assert ended.out == "1001 sent, 0 matched, 0 duplicates, 0 refused\n"
    assert sizes == [BATCH, BATCH, 1]


def test_what_a_server_refuses_does_not_hinder_the_rest(tocsin: CommandLine) -> None:
    sizes = gated(tocsin, refuses="b")
    ended = tocsin(*SEND, stdin=lines({"name": "a"}, {"name": "b"}, {"name": "c"}))

    assert (ended.code, ended.err) == (6, "line 2: data: is too much\n")
    assert ended.out == "2 sent, 0 matched, 0 duplicates, 1 refused\n"
    assert sizes == [3, 1, 1, 1]


def test_a_file_can_be_gone_on_with_where_the_server_went_away(tocsin: CommandLine) -> None:
    file = lines(*({"name": "a", "data": number} for number in range(BATCH + 2)))
    gated(tocsin, answers=1)
    ended = tocsin(*SEND, stdin=file)
    gated(tocsin)
    rest = tocsin(*SEND, "--after", str(BATCH), stdin=file)

    assert ended.code == 3
    assert ended.out == "500 sent, 0 matched, 0 duplicates, 0 refused\n"
    assert ended.err.startswith("all is done up to line 500: go on with --after 500\n")
    assert rest.out == "2 sent, 0 matched, 0 duplicates, 0 refused\n"


def over_http(tocsin: CommandLine, *, answers: int = sys.maxsize) -> list[int]:
    """Have commands go over HTTP to a node that goes away after some requests; answer how many events each had."""
    sizes: list[int] = []

    async def ready() -> bool:
        return True

    @asynccontextmanager
    async def connect(server: str) -> AsyncIterator[IScheduler]:
        async with tocsin.connect(server) as scheduler:
            gate = cast("Any", Gate(scheduler, sizes, answers=answers))
            node = Node(scheduler=gate, ready=ready, telemetry=tocsin.telemetry, version="1.2.3")
            async with TestServer(create_app(node)) as there, HttpScheduler(str(there.make_url("/"))) as client:
                yield client

    tocsin.factories = replace(tocsin.factories, connect=connect)
    return sizes


LONG = lines(*({"name": "a", "data": [number, "x" * 2000]} for number in range(400)))
"""Several requests' worth, but fewer events than a batch may have."""


def test_long_lines_go_in_smaller_batches_of_one_request_each(tocsin: CommandLine) -> None:
    sizes = over_http(tocsin)
    ended = tocsin(*SEND, stdin=LONG)

    assert ended.out == "400 sent, 0 matched, 0 duplicates, 0 refused\n"
    assert sizes == [129, 129, 129, 13]


def test_a_file_of_long_lines_is_gone_on_with_behind_the_last_that_was_taken(tocsin: CommandLine) -> None:
    connected = tocsin.factories
    sizes = over_http(tocsin, answers=1)
    ended = tocsin(*SEND, stdin=LONG)
    tocsin.factories = connected
    rest = tocsin(*SEND, "--after", str(sizes[0]), stdin=LONG)

    assert ended.code == 3
    assert f"go on with --after {sizes[0]}" in ended.err
    assert rest.out == f"{400 - sizes[0]} sent, 0 matched, 0 duplicates, 0 refused\n"
    assert tocsin("events", "list", "--json").json["total"] == 400


def test_an_event_too_large_for_a_request_is_refused_by_itself(tocsin: CommandLine) -> None:
    sizes = over_http(tocsin)
    large = {"name": "a", "data": "x" * (1024 * 1024 - 10)}
    ended = tocsin(*SEND, "--json", stdin=lines({"name": "a"}, large, {"name": "b"}))

    assert (ended.code, ended.json["sent"]) == (6, 2)
    assert [each["line"] for each in ended.json["refusals"]] == [2]
    assert sizes == [1, 1]


def test_lines_that_are_sent_one_by_one_are_not_sent_again(tocsin: CommandLine) -> None:
    gated(tocsin, refuses="b", answers=3)
    ended = tocsin(*SEND, stdin=lines({"name": "b"}, {"name": "a"}, {"name": "c"}))

    assert ended.code == 3
    assert "go on with --after 2" in ended.err
