"""Every page that has commands, done from its first block to its last."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.ports import free_port
from deploy.local.postgres import NEWEST
from deploy.local.postgres_programs import programs
from deploy.local.redis import LocalRedis
from tests.docs.pages import CHECKOUT, DOCS
from tests.docs.walk import Walk, a_reader
from tests.telemetry.collector import collecting

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the pages are not beside the tests")

DATABASE = "postgresql://tocsin@db.example.com/tocsin"


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Walk]:
    with a_reader(tmp_path) as walk:
        yield walk


@pytest.fixture(params=["sqlite", "postgres"])
def reader_of_either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Walk]:
    """Somebody who follows a page on SQLite, or with a PostgreSQL that an environment names."""
    with a_reader(tmp_path) as walk:
        if request.param == "postgres":
            walk.set("TOCSIN_DATABASE_URL", request.getfixturevalue("empty_postgres_url"))
        yield walk


async def test_the_tutorial_works_as_pasted(reader_of_either: Walk) -> None:
    reader_of_either.installs = os.environ.get("CI") == "true"
    await reader_of_either.through(DOCS / "tutorial.md")


async def test_what_failed_is_found_and_retried(reader_of_either: Walk) -> None:
    await reader_of_either.through(DOCS / "how-to" / "failures.md")


@pytest.mark.parametrize("guide", ["crontab", "celery-beat", "apscheduler", "commands", "declarative"])
async def test_the_commands_of_a_guide_work_as_pasted(reader: Walk, guide: str) -> None:
    await reader.through(DOCS / "how-to" / f"{guide}.md")


async def test_a_webhook_is_called_with_its_secret(reader: Walk) -> None:
    reader.stands_for["9000"] = str(free_port())

    await reader.through(DOCS / "how-to" / "webhooks.md")


async def test_the_guide_to_tracing_sends_one_tree(reader: Walk) -> None:
    async with collecting() as collector:
        reader.stands_for["http://127.0.0.1:4318"] = collector.url
        reader.set("OTEL_BSP_SCHEDULE_DELAY", "100")
        await reader.through(DOCS / "how-to" / "tracing.md")

    spans = {span.name: span for span in collector.spans}
    assert spans["publish order.created"].trace_id.hex() == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert spans["create billing.charge"].parent_span_id == spans["publish order.created"].span_id
    assert spans["process billing.charge"].parent_span_id == spans["create billing.charge"].span_id


async def test_several_nodes_share_their_work(reader: Walk, empty_postgres_url: str, own_redis: LocalRedis) -> None:
    reader.stands_for[DATABASE] = empty_postgres_url
    reader.stands_for["redis://cache.example.com"] = own_redis.url

    await reader.through(DOCS / "how-to" / "high-availability.md")


async def test_the_schema_goes_up_and_down(reader_of_either: Walk) -> None:
    await reader_of_either.terminal(1).run("tocsin migrate up")
    await reader_of_either.through(DOCS / "how-to" / "upgrades.md")


async def test_what_was_backed_up_can_be_restored(reader: Walk, empty_postgres_url: str) -> None:
    reader.stands_for[DATABASE] = empty_postgres_url
    reader.stands_for["tocsin_restored"] = f"{empty_postgres_url.rpartition('/')[2]}_restored"
    reader.set("PATH", f"{programs(NEWEST)}:{reader.environment['PATH']}")

    await reader.through(DOCS / "how-to" / "backup.md")
    await reader.terminal(1).run("tocsin jobs trigger nightly")
    await reader.terminal(1).run("until tocsin executions list --job nightly | grep success; do :; done")
    history = json.loads(await reader.terminal(1).run("tocsin executions list --job tick --limit 250 --json"))["items"]

    ended = min(each["completed_at"] for each in history if each["status"] == "cancelled")
    assert all((each["started_at"] or "") < ended for each in history)


async def test_events_come_in_over_a_stream(reader: Walk, empty_postgres_url: str, own_redis: LocalRedis) -> None:
    reader.stands_for["redis-cli"] = f"redis-cli -u {own_redis.url}"
    reader.set("TOCSIN_DATABASE_URL", empty_postgres_url)
    reader.set("TOCSIN_REDIS_URL", own_redis.url)
    await reader.terminal(2).leave_running("tocsin serve")

    await reader.through(DOCS / "event-streams.md")

    await reader.terminal(1).run("until tocsin events list | grep order.created; do :; done")


FUNCTIONS = """
import tocsin

for name in ("reports.large_order", "support.escalate", "pages.render"):
    tocsin.handler(name)(lambda: None)
"""


async def test_events_do_what_their_page_says(reader: Walk) -> None:
    (reader.folder / "functions.py").write_text(FUNCTIONS, "utf-8")
    await reader.terminal(2).leave_running("tocsin serve --handlers functions")

    await reader.through(DOCS / "events.md")


async def test_the_first_screen_works_as_pasted(reader: Walk) -> None:
    reader.stands_for[".venv/bin/"] = ""
    await reader.terminal(2).leave_running("tocsin serve --samples")

    await reader.through(CHECKOUT / "README.md")


async def test_time_is_meant_as_its_page_says(reader: Walk) -> None:
    await reader.through(DOCS / "explain" / "time.md")
