"""Log lines as rows, and back."""

from __future__ import annotations

from uuid import UUID

from ...domain.json import document_of, document_text
from ...ports.ledger import LogLine
from .instants import from_micros, to_micros
from .transaction import Parameters, Row


def log_line_row(line: LogLine) -> Parameters:
    """Write a line."""
    return {
        "execution_id": str(line.execution_id),
        "attempt": line.attempt,
        "sequence": line.sequence,
        "logged_at": to_micros(line.logged_at),
        "level": line.level,
        "message": line.message,
        "fields": document_text(line.fields),
    }


def log_line_of(row: Row) -> LogLine:
    """Read a line."""
    return LogLine(
        execution_id=UUID(row["execution_id"]),
        attempt=row["attempt"],
        sequence=row["sequence"],
        logged_at=from_micros(row["logged_at"]),
        level=row["level"],
        message=row["message"],
        fields=document_of(row["fields"]),
    )
