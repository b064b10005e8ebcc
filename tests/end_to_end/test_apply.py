from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.program import database_url, run, serving

FILE = """\
scope: shop
jobs:
  - key: report
    schedule: "0 2 * * *"
    timezone: Europe/Berlin
    handler_name: tocsin.noop
    start_date: 2030-01-01T00:00:00+01:00
    retry_jitter: 1
    payload: {exact: 1.0, large: 1.0e+25, text: "\\u00e9 \\U0001F514"}
  - key: unlimited
    schedule: every 15m
    handler_type: http
    payload: {method: GET, url: "https://example.com/health"}
    overlap_policy: allow_all
  - key: once
    execute_at: 2040-01-01T08:00:00+01:00
    handler_name: tocsin.noop
event_handlers:
  - key: on-order
    event: order.*
    action: {type: run_job, job: report}
    flow: {debounce: {seconds: 5}}
"""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return database_url(tmp_path)
    return str(request.getfixturevalue("postgres_url"))


async def test_a_file_is_applied_to_a_node_and_comes_back(url: str, tmp_path: Path) -> None:
    (tmp_path / "declared.yaml").write_text(FILE)
    async with serving(tmp_path, "--database-url", url) as program:

        async def apply(*options: str, file: str = "declared.yaml", stdin: str = "") -> tuple[int, str]:
            ended = await run(tmp_path, "--server", program.url, "apply", "-f", file, *options, stdin=stdin)
            return ended.code, ended.stderr or ended.stdout.splitlines()[-1]

        assert await apply("--dry-run") == (7, "Scope shop: 4 to create; nothing was changed")
        assert await apply() == (0, "Scope shop: 4 created")
        assert await apply() == (0, "Scope shop: 4 as declared")
        exported = await run(tmp_path, "--server", program.url, "export", "--scope", "shop")
        assert await apply("--dry-run", file="-", stdin=exported.stdout) == (
            0,
            "Scope shop: 3 as declared; nothing was changed",
        )

        edited = FILE.replace("allow_all", "skip\n    concurrency: 3").replace("event: order.*", "event: order.paid")
        (tmp_path / "declared.yaml").write_text(edited)
        assert await apply() == (0, "Scope shop: 2 changed, 2 as declared")
        (tmp_path / "declared.yaml").write_text(FILE)
        assert await apply() == (0, "Scope shop: 2 changed, 2 as declared")

        without = FILE[: FILE.index("  - key: once")] + FILE[FILE.index("event_handlers") :]
        (tmp_path / "declared.yaml").write_text(without)
        assert await apply("--prune", "--yes") == (0, "Scope shop: 1 pruned, 3 as declared")
        assert await apply("--prune", "--yes", "--dry-run") == (0, "Scope shop: 3 as declared; nothing was changed")
