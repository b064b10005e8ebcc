from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from uuid import UUID, uuid4

from tests.end_to_end.program import Ended, gone_quiet, run, serving


async def test_a_job_lives_its_life_by_commands(tmp_path: Path) -> None:
    async with serving(tmp_path, "--roles", "api,executor,sweeper") as program:

        async def say(*arguments: str) -> Ended:
            return await run(tmp_path, "--server", program.url, "--json", *arguments)

        created = await say(
            "jobs", "create", "--name", "Nightly", "--key", "n", "--every", "15m", "--handler", "record"
        )
        assert created.code == 0, created.stderr
        job_id = created.answer["id"]
        paused = await say("jobs", "pause", "n")
        assert (paused.code, paused.answer["status"], paused.answer["next_run"]) == (0, "paused", None)
        resumed = await say("jobs", "resume", "Nightly")
        assert (resumed.code, resumed.answer["status"]) == (0, "active")
        triggered = await say("jobs", "trigger", job_id, "--payload", '{"a": 1}')
        assert (triggered.code, triggered.answer["payload"]) == (0, {"a": 1})
        await gone_quiet(program)
        listed, history, logs = await asyncio.gather(
            say("jobs", "list"),
            say("jobs", "history", job_id),
            say("executions", "logs", triggered.answer["id"]),
        )

    assert [job["id"] for job in listed.answer["items"]] == [job_id]
    (execution,) = history.answer["items"]
    assert (execution["id"], execution["status"]) == (triggered.answer["id"], "success")
    assert execution["result"] == {"attempt": 1}
    assert [line["message"] for line in logs.answer["items"]] == ["recorded"]


async def test_exit_codes_tell_what_went_wrong(tmp_path: Path) -> None:
    async with serving(tmp_path, "--roles", "api,executor") as program:
        job = await program.scheduler.schedule_recurring("x", schedule="every 15m", handler_name="record", key="taken")
        with socket.create_server(("127.0.0.1", 0)) as unused:
            nobody = f"http://127.0.0.1:{unused.getsockname()[1]}"
        create = ("jobs", "create", "--name", "y", "--handler", "record")
        cases = [
            (4, "no job", ("jobs", "show", str(uuid4()))),
            (5, "taken", (*create, "--every", "1h", "--key", "taken")),
            (2, "timeout_ms", (*create, "--every", "1h", "--set", "timeout_ms=999")),
            (3, "tocsin serve", ("jobs", "list", "--server", nobody)),
        ]
        ended = await asyncio.gather(*(run(tmp_path, "--server", program.url, *words) for _, _, words in cases))
        (untouched,) = (await program.scheduler.list_jobs()).items

    for (code, word, arguments), each in zip(cases, ended, strict=True):
        assert (each.code, each.stdout) == (code, ""), arguments
        assert word in each.stderr
        assert "Traceback" not in each.stderr
    assert (untouched.id, untouched.version) == (UUID(str(job.id)), 1)
