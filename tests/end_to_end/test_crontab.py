from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from uuid import UUID

from tests.end_to_end.program import Program, run, serving
from tests.end_to_end.waiting import eventually
from tocsin.domain.execution import ExecutionStatus, JobExecution
from tocsin.domain.job import JobStatus
from tocsin.ports.queries import JobFilter

CRONTAB: Final = Path(__file__).parents[1] / "cli" / "data" / "user.crontab"
OWN_LINE: Final = r"5 5 * * * cat; echo ${BACKUP_ROOT}in $PWD at 100\%%first%second"

# Nothing fires by itself: what the file says is meant for another machine.
NO_TIMER: Final = ("--roles", "api,executor,sweeper", "--allow-commands")


def crontab_in(folder: Path) -> str:
    """Take a real crontab over to this machine: its home is the folder, and it gains a line that runs here."""
    home = folder / "home"
    home.mkdir()
    text = CRONTAB.read_text("utf-8").replace("/home/deploy", str(home))
    (folder / "crontab").write_text(f"{text.rstrip()}\n{OWN_LINE}\n", "utf-8")
    return "crontab"


async def imported(program: Program, folder: Path, *options: str) -> list[dict[str, Any]]:
    ended = await run(folder, "--server", program.url, "--json", "import", "crontab", "crontab", *options)
    assert ended.code == 6, ended.stderr
    lines: list[dict[str, Any]] = ended.answer["lines"]
    return lines


async def versions(program: Program) -> dict[UUID, int]:
    page = await program.scheduler.list_jobs(JobFilter(tags=("crontab",), limit=250))
    assert page.total == len(page.items)
    return {job.id: job.version for job in page.items}


async def test_a_real_crontab_imports_once_previews_and_runs(tmp_path: Path) -> None:
    file = tmp_path / crontab_in(tmp_path)
    async with serving(tmp_path, *NO_TIMER) as program:
        tried = await imported(program, tmp_path, "--dry-run", "--timezone", "Europe/Berlin")
        assert await versions(program) == {}

        first = await imported(program, tmp_path, "--timezone", "Europe/Berlin")
        after_first = await versions(program)
        second = await imported(program, tmp_path, "--timezone", "Europe/Berlin")

        new = [line for line in first if line["fate"] == "new"]
        assert len(new) >= 40
        assert {UUID(line["job_id"]) for line in new} == set(after_first)
        assert [(line["line"], line["fate"]) for line in tried] == [(line["line"], line["fate"]) for line in first]
        assert {line["fate"] for line in second} == {"unchanged", "refused"}
        assert await versions(program) == after_first
        assert refused(first) == refused(second) == lines_with(file, "@reboot")
        assert "left_over" not in {line["fate"] for line in second}
        for job_id in after_first:
            assert len((await program.scheduler.preview(job_id, count=3)).fires) == 3

        (mine,) = (line for line in new if line["source"].strip() == OWN_LINE)
        execution = await ended(program, UUID(mine["job_id"]))
        logged = await program.scheduler.get_execution_logs(execution.id)

        file.write_text(file.read_text("utf-8").replace(OWN_LINE, ""), "utf-8")
        edited = await imported(program, tmp_path, "--timezone", "Europe/Berlin")
        pruned = await imported(program, tmp_path, "--timezone", "Europe/Berlin", "--prune", "--yes")
        own = await program.scheduler.get_job(UUID(mine["job_id"]))

    assert [line["job_id"] for line in edited if line["fate"] == "left_over"] == [str(own.id)]
    assert [line["job_id"] for line in pruned if line["fate"] == "cancelled"] == [str(own.id)]
    assert own.status is JobStatus.CANCELLED
    assert execution.status is ExecutionStatus.SUCCESS, execution.error
    home = tmp_path / "home"
    assert [line.message for line in logged.items] == ["first", "second", f"/srv/backups/nightly in {home} at 100%"]


def refused(lines: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(line["line"], line["source"].strip()) for line in lines if line["fate"] == "refused"]


def lines_with(file: Path, word: str) -> list[tuple[int, str]]:
    numbered = enumerate(file.read_text("utf-8").splitlines(), start=1)
    return [(number, line.strip()) for number, line in numbered if word in line]


async def ended(program: Program, job_id: UUID) -> JobExecution:
    """Run a job by hand, and wait for its end."""
    execution = await program.scheduler.trigger_job(job_id)

    async def end() -> JobExecution | None:
        found = await program.scheduler.get_execution(execution.id)
        return found if found.status.terminal else None

    return await eventually(end)
