from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tests.end_to_end.program import Started, gone_quiet, serving, starting
from tests.end_to_end.waiting import eventually
from tocsin.adapters.http import HttpScheduler
from tocsin.domain.execution import ExecutionStatus, JobExecution
from tocsin.domain.job import ScheduledJob
from tocsin.ports.queries import JobFilter


async def test_the_sample_jobs_appear_and_do_real_work(tmp_path: Path) -> None:
    async with serving(tmp_path, "--samples") as program:

        async def samples() -> Sequence[ScheduledJob] | None:
            page = await program.scheduler.list_jobs(JobFilter(tags=("sample",)))
            return page.items if page.total == 3 else None

        jobs = {str(job.definition.key): job for job in await eventually(samples)}
        assert sorted(jobs) == ["sample:health", "sample:probe", "sample:retention"]

        async def success_of(key: str) -> JobExecution | None:
            triggered = await program.scheduler.trigger_job(jobs[key].id)
            await gone_quiet(program)
            ended = await program.scheduler.get_execution(triggered.id)
            return ended if ended.status is ExecutionStatus.SUCCESS else None

        # Again and again, because a probe that a loaded machine answers late has failed rightly.
        health, probe, _ = [await eventually(partial(success_of, key)) for key in sorted(jobs)]

    assert isinstance(health.result, dict)
    assert health.result["status"] == "healthy"
    assert isinstance(probe.result, dict)
    assert probe.result["status"] == 200


WITHOUT_PROBE = ["sample:health", "sample:retention"]


async def samples_of(started: Started) -> dict[str, ScheduledJob]:
    """Ask a node that listens on every address over loopback, once its samples are made."""
    await started.logged("node.started")
    listening = await started.logged("http.listening")
    async with HttpScheduler(listening["url"].replace("0.0.0.0", "127.0.0.1")) as scheduler:  # noqa: S104
        return {str(job.definition.key): job for job in (await scheduler.list_jobs()).items}


async def test_a_node_that_may_call_no_private_address_is_not_probed(tmp_path: Path) -> None:
    async with starting(tmp_path, "--samples", "--host", "0.0.0.0", "--unsafe-allow-remote") as started:  # noqa: S104
        told = await started.logged("samples.without_probe")

        assert sorted(await samples_of(started)) == WITHOUT_PROBE
        assert told["reason"] == "127.0.0.1 is not a public address, and not in TOCSIN_TARGET_ALLOW"


async def test_a_node_that_listens_on_every_address_is_probed_over_loopback(tmp_path: Path) -> None:
    settings = tmp_path / "tocsin.toml"
    settings.write_text('host = "0.0.0.0"\nallow_remote = true\ntarget_allow = ["127.0.0.1"]\n', "utf-8")
    async with starting(tmp_path, "--samples", "--config", str(settings)) as started:
        probe = (await samples_of(started))["sample:probe"]

    assert isinstance(probe.definition.payload, dict)
    assert str(probe.definition.payload["url"]).startswith("http://127.0.0.1:")


async def test_a_node_without_the_api_is_not_probed(tmp_path: Path) -> None:
    async with starting(tmp_path, "--samples", "--roles", "timer,executor") as started:
        told = await started.logged("samples.without_probe")
        await started.logged("node.started")

    assert told["reason"] == "this node does not have the role api"
