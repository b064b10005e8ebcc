"""Crons read by croniter."""

from __future__ import annotations

from .croniter_calendar import CroniterCalendar

__all__ = ["CroniterCalendar"]
