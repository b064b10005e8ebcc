"""The commands of docs/events.md, run as they stand there."""

from __future__ import annotations

import asyncio
import re
import shlex
from datetime import timedelta
from pathlib import Path

import pytest

from tocsin.domain.execution import ExecutionStatus
from tocsin.ports.stores import Worker

from .conftest import CommandLine
from .test_following import position, ran

GUIDE = Path(__file__).parents[2] / "docs" / "events.md"
BLOCKS = re.findall(r"^```bash\n(.*?)^```", GUIDE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
FUNCTIONS = ("reports.large_order", "support.escalate", "pages.render")


def commands() -> list[list[str]]:
    """Read the commands of `tocsin` in the guide; one goes on over lines while a quote is open."""
    found = re.findall(r"^tocsin (?:'[^']*'|[^'\n])*", "\n".join(BLOCKS), re.MULTILINE)
    return [shlex.split(each, comments=True)[1:] for each in found]


def test_the_commands_of_the_guide_work_as_written(
    tocsin: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tocsin.clock.advance(timedelta(days=365).total_seconds())
    asyncio.run(tocsin.storage.workers.beat(worker(tocsin)))
    (tmp_path / "events.jsonl").write_text('{"name": "order.created", "data": {"total": 200}}\n', "utf-8")
    monkeypatch.chdir(tmp_path)
    stands_for: dict[str, str] = {}
    since = position(tocsin)
    ran(tocsin, ExecutionStatus.FAILED)
    for arguments in commands():
        options = ("--after", since, "--count", "1") if arguments[0] == "watch" else ()
        ended = tocsin(*(stands_for.get(each, each) for each in arguments), *options)

        assert ended.code == (1 if "--follow" in arguments else 0), (arguments, ended.err)
        stands_for |= known(tocsin)


def known(tocsin: CommandLine) -> dict[str, str]:
    """Tell what the names in capitals stand for, as far as there is anything by now."""
    lists = {
        "EVENT_ID": ("events", "list"),
        "HANDLER_ID": ("events", "handlers", "list"),
        "EXECUTION_ID": ("executions", "list", "--status", "failed"),
    }
    found = {name: tocsin(*listing, "--json").json["items"] for name, listing in lists.items()}
    return {name: items[0]["id"] for name, items in found.items() if items}


def worker(tocsin: CommandLine) -> Worker:
    now = tocsin.clock.now()
    return Worker(
        id="node-1#abc",
        name="node-1",
        roles=["executor"],
        capabilities=[f"function/{name}" for name in FUNCTIONS],
        version="1.2.3",
        capacity=1,
        running=0,
        status="live",
        started_at=now,
        heartbeat_at=now,
        anomalies=0,
    )
