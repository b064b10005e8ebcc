"""Log lines and progress as rows, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ...domain.json import document_of, document_text, encoded
from ...ports.ledger import LogLine, Progress
from .statements import statements
from .transaction import Parameters, Row, Transaction

_LEDGER: Final = statements("ledger")


def log_line_row(line: LogLine) -> Parameters:
    """Write a line."""
    return {
        "execution_id": line.execution_id,
        "attempt": line.attempt,
        "sequence": line.sequence,
        "logged_at": line.logged_at,
        "level": line.level,
        "message": line.message,
        "fields": document_text(line.fields),
    }


def log_line_of(row: Row) -> LogLine:
    """Read a line."""
    return LogLine(
        execution_id=row["execution_id"],
        attempt=row["attempt"],
        sequence=row["sequence"],
        logged_at=row["logged_at"],
        level=row["level"],
        message=row["message"],
        fields=document_of(row["fields"]),
    )


async def report(transaction: Transaction, reports: Sequence[Progress]) -> None:
    """Show the newest report of each attempt that still runs."""
    newest = {(each.execution_id, each.attempt): each for each in reports}
    rows = await transaction.rows(_LEDGER["lock_reported"], ids=[execution_id for execution_id, _ in newest])
    shown = []
    for row in rows:
        progress, metadata = newest.get((row["id"], row["attempt"])), document_of(row["metadata"])
        if progress is not None and isinstance(metadata, Mapping):
            current = {"percent": progress.percent, "message": progress.message}
            shown.append({"id": row["id"], "metadata": encoded({**metadata, "progress": current})})
    await transaction.run_for(_LEDGER["save_metadata"], shown)
