from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from tocsin.adapters.telemetry import StructuredLog
from tocsin.domain.trace import TraceContext
from tocsin.ports.telemetry import SpanStart

PARENT = TraceContext(trace_id="4bf92f3577b34da6a3ce929d0e0e4736", span_id="00f067aa0ba902b7", tracestate="vendor=1")
EXECUTION = UUID("01890a5d-ac96-774b-bcce-b302099a8057")


class Log(StructuredLog):
    """A log that can be read."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        super().__init__(form="json", level="debug", stream=self.stream)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


@pytest.mark.parametrize(
    "name", ["password", "DB_PASSWORD", "api_key", "authorization", "Set-Cookie", "credentials", "X-Api-Key"]
)
def test_the_value_of_a_field_that_speaks_of_a_secret_is_masked(name: str) -> None:
    log = Log()

    log.info("told", **{name: "hunter2"})

    assert log.lines[0][name] == "***"


def test_secrets_are_masked_however_deep_they_lie() -> None:
    log = Log()

    log.info("told", headers={"Authorization": "Bearer x", "Accept": "*/*"}, tried=[{"token": "x"}, {"name": "n"}])

    assert log.lines[0]["headers"] == {"Authorization": "***", "Accept": "*/*"}
    assert log.lines[0]["tried"] == [{"token": "***"}, {"name": "n"}]


def test_the_password_of_a_url_is_masked_wherever_it_stands() -> None:
    log = Log()

    log.info("told", url="postgresql://ann:hunter2@db/tocsin", error="no answer from redis://:hunter2@cache:6379/0")
    log.info("told", url="https://example.com/a:b@c", at="12:00")

    assert log.lines[0]["url"] == "postgresql://ann:***@db/tocsin"
    assert log.lines[0]["error"] == "no answer from redis://:***@cache:6379/0"
    assert (log.lines[1]["url"], log.lines[1]["at"]) == ("https://example.com/a:b@c", "12:00")


def test_a_line_within_a_span_carries_its_ids() -> None:
    log = Log()

    with log.span(SpanStart(name="work", parent=PARENT, span_id="00000000000000aa")) as span:
        log.info("inside")
        assert log.current() == span.context
    log.info("outside")

    assert (log.lines[0]["trace_id"], log.lines[0]["span_id"]) == (PARENT.trace_id, "00000000000000aa")
    assert "trace_id" not in log.lines[1]
    assert log.current() is None


def test_a_span_that_nobody_records_still_has_its_place() -> None:
    log = Log()

    with log.span(SpanStart(name="work", parent=PARENT)) as span:
        assert span.context.trace_id == PARENT.trace_id
        assert (span.context.flags, span.context.tracestate) == (PARENT.flags, PARENT.tracestate)
        assert span.context.span_id != PARENT.span_id
    with log.span(SpanStart(name="work")) as root:
        assert not root.context.is_sampled


@dataclass(frozen=True)
class Work:
    """What a task is about."""

    fields: Mapping[str, object]
    trace: TraceContext | None = None


async def test_what_lines_are_about_is_told_by_the_tasks_that_are_started_too_and_by_no_others() -> None:
    log = Log()

    async def tell(name: str) -> None:
        log.info(name)

    stranger = asyncio.create_task(tell("stranger"))
    log.dedicate(Work(fields={"execution_id": EXECUTION, "attempt": 2}))
    await asyncio.create_task(tell("child"))
    log.info("own", attempt="as the line says")
    await stranger

    told = {line["event"]: line for line in log.lines}
    assert (told["child"]["execution_id"], told["child"]["attempt"]) == (str(EXECUTION), 2)
    assert told["own"]["attempt"] == "as the line says"
    assert "attempt" not in told["stranger"]
