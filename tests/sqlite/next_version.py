"""A file whose schema a newer version has widened, by whatever a step may add (`tocsin.ports.schema`)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tocsin.adapters.sqlite import migrate

_STEP = """
ALTER TABLE jobs ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue';
ALTER TABLE job_counters ADD COLUMN colour TEXT;
ALTER TABLE executions ADD COLUMN colour TEXT;
ALTER TABLE workers ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue';
ALTER TABLE locks ADD COLUMN colour TEXT;
CREATE TABLE colours (name TEXT NOT NULL PRIMARY KEY, job_id TEXT REFERENCES jobs (id) ON DELETE CASCADE);
CREATE INDEX jobs_of_colour ON jobs (colour, id);
INSERT INTO schema_migrations (version, name, checksum, applied_at, compatible) VALUES (9999, 'colours', 'x', 0, 1);
"""


def make_next_version(path: Path) -> None:
    """Make the file, take every step that this version knows, and one that only the next does."""
    migrate.up(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_STEP)
