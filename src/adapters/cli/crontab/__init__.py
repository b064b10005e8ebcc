"""Crontab files, read as cron reads them, with nothing dropped in silence."""

from .document import Crontab, CrontabEntry, CrontabLayout, CrontabSetting, Note, RefusedLine
from .job import job_name, scope_of, to_metadata, to_payload
from .reader import read_crontab

__all__ = [
    "Crontab",
    "CrontabEntry",
    "CrontabLayout",
    "CrontabSetting",
    "Note",
    "RefusedLine",
    "job_name",
    "read_crontab",
    "scope_of",
    "to_metadata",
    "to_payload",
]
