"""Batches of rows that cross as one text."""

from __future__ import annotations

import json
import sqlite3

import pytest

from tests.makers import START
from tocsin.adapters.sqlite.transaction import Transaction

LONGEST = 5000
LONG_ROWS = "SELECT json_group_array(json_array(value, hex(zeroblob(200)))) FROM json_each(:ids)"


def test_a_batch_that_is_too_long_for_one_text_is_read_in_parts(stranger: sqlite3.Connection) -> None:
    stranger.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    ids = [f"{n}" for n in range(30)]

    rows = Transaction(connection=stranger, now=START).batch(LONG_ROWS, ids)

    assert len(json.dumps(rows)) > LONGEST
    assert rows == [[each, 400 * "0"] for each in ids]


def test_a_statement_that_fails_for_another_reason_fails(stranger: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        Transaction(connection=stranger, now=START).batch("SELECT json_array(absent, :ids)", ["1", "2"])
