from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import CommandLine
from tests.cli.test_declared_yaml import documents, texts
from tocsin.adapters.cli.declarative.entries import read_wishes
from tocsin.adapters.cli.declarative.exporting import can_be_declared, exported
from tocsin.adapters.cli.declarative.places import Source
from tocsin.adapters.cli.declarative.yaml_text import read_yaml, write_yaml
from tocsin.application.declared_jobs import DEFAULTS, standing_of
from tocsin.domain.definition import INTEGER_BOUNDS, document, from_document, validate
from tocsin.domain.errors import InvalidJob
from tocsin.domain.job import Backoff, HandlerType, JobDefinition, JobStatus, JobType, MisfirePolicy, OverlapPolicy
from tocsin.domain.job import ScheduledJob as Job
from tocsin.domain.ownership import Owner, marked
from tocsin.domain.reconciliation import Fate, Terms, reconcile

NOW = datetime(2026, 1, 1, tzinfo=UTC)
instants = st.datetimes(datetime(2000, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
names = texts.filter(lambda text: text and "\0" not in text)
timings = st.sampled_from(
    [
        (JobType.CRON, "0 2 * * *"),
        (JobType.INTERVAL, "every 15m"),
        (JobType.INTERVAL, "PT6H"),
        (JobType.RECURRING, "@daily"),
        (JobType.ONE_TIME, "2030-01-01T08:00:00+01:00"),
        (JobType.EVENT, None),
    ]
)


@st.composite
def definitions(draw: st.DrawFn) -> JobDefinition:
    kind, schedule = draw(timings)
    numbers = {name: st.integers(*bounds) for name, bounds in INTEGER_BOUNDS.items() if name != "max_executions"}
    choices = {
        "overlap_policy": st.sampled_from(OverlapPolicy),
        "misfire_policy": st.sampled_from(MisfirePolicy),
        "backoff": st.sampled_from(Backoff),
        "timezone": st.sampled_from(["UTC", "Europe/Berlin"]),
        "description": names,
        "start_date": st.just(NOW),
        "end_date": instants,
        "max_executions": st.integers(1, 10),
        "payload": documents,
        "metadata": st.dictionaries(texts, documents, max_size=2),
        "tags": st.lists(names, max_size=3).map(tuple),
        "retry_jitter": st.floats(0, 1),
    }
    fields: dict[str, Any] = draw(st.fixed_dictionaries({}, optional={**numbers, **choices}))
    if fields.get("overlap_policy") is OverlapPolicy.ALLOW_ALL:
        fields.pop("concurrency", None)
    if kind is JobType.RECURRING:
        fields.setdefault("max_executions", 3)
    handler_type = draw(st.sampled_from(HandlerType))
    return JobDefinition(
        name=draw(names),
        key=draw(names),
        type=kind,
        schedule=schedule,
        handler_type=handler_type,
        handler_name=draw(st.one_of(st.just(handler_type.value), names)),
        **fields,
    )


def kept(definition: JobDefinition) -> JobDefinition | None:
    """The definition as a store has it, or None where it breaks a bound."""
    try:
        return validate(definition)
    except InvalidJob:
        return None


def a_job(definition: JobDefinition, **fields: Any) -> Job:  # noqa: ANN401 - as the job has them
    return Job(id=UUID(int=1), definition=definition, created_at=NOW, updated_at=NOW, **fields)


@given(
    definition=definitions().map(kept).filter(lambda each: each is not None),
    status=st.sampled_from([JobStatus.ACTIVE, JobStatus.PAUSED]),
    owner=st.sampled_from([None, Owner(scope="default"), Owner(scope="code:jobs", stated=frozenset({"name"}))]),
)
def test_what_is_exported_is_taken_back_unchanged(
    definition: JobDefinition, status: JobStatus, owner: Owner | None
) -> None:
    owned = from_document(marked(document(definition), owner))
    standing = standing_of(a_job(owned, status=status))
    text = write_yaml(exported([standing], [], scope=None))

    document_, lines = read_yaml(text)
    source = Source(name="jobs.yaml", document=document_, line_of=lines.get)
    wishes = read_wishes([source], scope=None, check=lambda _: None)

    [step] = reconcile(
        [entry.declaration for entry in wishes.jobs], [standing], Terms(scope="default", defaults=DEFAULTS)
    )
    assert (step.fate, step.changes) == (Fate.KEEP, []), text


def test_a_job_without_a_key_or_that_has_ended_cannot_be_declared() -> None:
    job = a_job(JobDefinition(name="a", type=JobType.EVENT, handler_name="a", key="a"))

    assert can_be_declared(standing_of(job))
    assert not can_be_declared(standing_of(replace(job, status=JobStatus.COMPLETED)))
    assert not can_be_declared(standing_of(replace(job, definition=replace(job.definition, key=None))))


FILE = """\
jobs:
  - key: report
    name: Nightly report
    description: |
      Sends the report
      of the day.
    schedule: 0 2 * * *
    timezone: Europe/Berlin
    handler_name: tocsin.noop
    payload:
      kind: nightly
    priority: 75
    enabled: false
  - key: watch
    schedule: every 15m
    handler_type: http
    payload:
      method: GET
      url: https://example.com/health
event_handlers:
  - key: again
    event: order.*
    action:
      type: publish
      name: order.seen
    enabled: false
    flow:
      throttle:
        limit: 5
        seconds: 60
  - key: on-order
    event: order.*
    action:
      type: run_job
      job: report
    filter: event.data.total > 100
"""


def test_a_file_comes_back_as_it_was_applied(tocsin: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text(FILE)
    assert tocsin("apply", "-f", str(file)).code == 0

    assert tocsin("export").out == FILE


def test_what_was_made_by_hand_is_exported_and_taken_back(tocsin: CommandLine) -> None:
    tocsin.create("--key", "by-hand", "--set", "concurrency=3")
    tocsin("jobs", "create", "--name", "on", "--key", "d", "--on-demand", "--url", "https://example.com")
    tocsin(
        "jobs", "create", "--name", "at", "--key", "o", "--at", "2030-01-01T08:00:00+01:00", "--handler", "tocsin.noop"
    )
    tocsin("events", "on", "a.*", "--key", "call", "--call", "tocsin.noop", "--set", "max_retries=1")

    written = tocsin("export").out

    assert tocsin("apply", "-f", "-", "--dry-run", stdin=written).code == 0


def test_as_json_it_can_be_applied_too(tocsin: CommandLine) -> None:
    tocsin("apply", "-f", "-", stdin=FILE)

    assert tocsin("apply", "-f", "-", "--dry-run", stdin=tocsin("export", "--json").out).code == 0


def test_the_jobs_of_one_scope_are_exported_with_their_scope(tocsin: CommandLine) -> None:
    tocsin("apply", "-f", "-", stdin=f"scope: shop\n{FILE}")
    tocsin.create("--key", "by-hand")

    written = tocsin("export", "--scope", "shop").out

    assert written.startswith("scope: shop\njobs:\n  - key: report\n")
    assert "by-hand" not in written


def test_what_is_left_out_is_told(tocsin: CommandLine) -> None:
    tocsin.create()

    ran = tocsin("export")

    assert (ran.out, ran.err) == ("{}\n", "1 job left out: without a key, or ended\n")


def test_rows_are_written_where_rows_are_asked_for(tocsin: CommandLine) -> None:
    tocsin("apply", "-f", "-", stdin=FILE)

    heading, report, _ = tocsin("export", "--output", "csv").out.splitlines()[:3]

    assert heading.startswith("key,name,")
    assert report.startswith("report,Nightly report,")


def test_event_handlers_that_are_left_out_are_told(tocsin: CommandLine) -> None:
    tocsin("events", "on", "order.*", "--call", "tocsin.noop")
    tocsin("events", "on", "order.*", "--call", "tocsin.noop", "--key", "orders")
    ended = tocsin("export")

    assert "1 event handler left out: without a key\n" in ended.err
    assert "key: orders" in ended.out
