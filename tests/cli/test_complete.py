"""Whatever the API can do, a command can do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from tocsin.adapters.cli import create_cli
from tocsin.adapters.http.app import SECTIONS
from tocsin.adapters.http.openapi import document

from .conftest import CommandLine

COMMANDS = {
    "create_job": "jobs create",
    "list_jobs": "jobs list",
    "get_job": "jobs show",
    "update_job": "jobs update",
    "delete_job": "jobs delete",
    "reschedule_job": "jobs reschedule",
    "pause_job": "jobs pause",
    "resume_job": "jobs resume",
    "cancel_job": "jobs cancel",
    "trigger_job": "jobs trigger",
    "retry_job": "jobs retry",
    "create_jobs": "jobs create-many",
    "change_jobs": "jobs bulk",
    "list_upcoming": "jobs upcoming",
    "get_job_calendar": "jobs calendar",
    "get_outcomes": "jobs list",
    "list_job_executions": "jobs history",
    "list_job_changes": "jobs changes",
    "verify_job_ledger": "ledger verify",
    "get_job_stats": "jobs stats",
    "preview_job": "jobs preview",
    "list_executions": "executions list",
    "get_execution": "executions show",
    "get_execution_logs": "executions logs",
    "cancel_execution": "executions cancel",
    "retry_execution": "executions retry",
    "preview_schedule": "preview",
    "trigger_event": "events send",
    "list_events": "events list",
    "get_event": "events show",
    "stream_facts": "watch",
    "add_event_handler": "events on",
    "list_event_handlers": "events handlers list",
    "get_event_handler": "events handlers show",
    "update_event_handler": "events handlers update",
    "remove_event_handler": "events handlers remove",
    "replay_events": "events replay",
    "try_filter": "events test",
    "list_workers": "workers",
    "drain_worker": "workers drain",
    "resume_worker": "workers resume",
    "get_metrics": "metrics",
    "get_series": "series",
    "get_health": "health",
}
"""The command of each operation under /api/v1; what lies elsewhere is for probes, scrapers and browsers."""


def operations() -> set[str]:
    paths: dict[str, dict[str, Any]] = document(SECTIONS, version="1.2.3")["paths"]
    found = [methods.values() for path, methods in paths.items() if path.startswith("/api/v1/")]
    return {operation["operationId"] for methods in found for operation in methods if isinstance(operation, dict)}


def commands(group: Any, above: str = "") -> Iterator[str]:  # noqa: ANN401 - the library's own kind of command
    for name in group.list_commands(None):
        path = f"{above} {name}".strip()
        command = group.get_command(None, name)
        yield path
        if hasattr(command, "list_commands"):
            yield from commands(command, path)


def test_every_operation_of_the_api_has_a_command() -> None:
    assert operations() == COMMANDS.keys()


def test_every_command_that_an_operation_is_said_to_have_is_there(tocsin: CommandLine) -> None:
    there = set(commands(get_command(create_cli(tocsin.factories))))

    assert set(COMMANDS.values()) - there == set()
