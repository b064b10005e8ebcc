"""Derives the inputs of the model from the results of benchmarks, as `--json` writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from .model import COMMITS, NODE, STAGES

ALONE: Final = "batches of 1"
BATCHED: Final = "batches of 500"
RUN: Final = ("take", "claim", "finish")
"""The stages of an execution that is stored already."""
HISTORY: Final = "history: "
CHANGES: Final = ("rows inserted", "rows updated", "of these without an index entry", "rows deleted")

_COST: Final = re.compile(r"(?P<stage>[a-z ]+): processor time of (?P<process>\w+)")
_CHECKED: Final = {"burst": "lateness of the start", "fleet": "lateness of the start"}

Results = Sequence[Mapping[str, Any]]


class Unfit(Exception):
    """Results lack what the model needs; the message names it."""


def fit(reports: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """
    Derive the inputs from reports, of which a later one replaces what an earlier one says of the same case.

    Raises:
        Unfit: there are no results of `stages`, or none of `drain`, for an engine.
    """
    read = list(reports)
    latest = {(each["scenario"], each["case"], each["engine"]): each for report in read for each in report["results"]}
    results = [each for each in latest.values() if each["figures"]]
    engines = list(dict.fromkeys(each["engine"] for each in results if each["scenario"] == "stages"))
    if not engines:
        raise Unfit("no results of the scenario stages")
    return {
        "machine": read[-1]["machine"],
        "engines": {engine: _engine([each for each in results if each["engine"] == engine]) for engine in engines},
        "checks": list(_checks(results)),
    }


def write(sources: Sequence[Path], out: Path) -> None:
    """Fit reports from files into one."""
    found = fit([json.loads(source.read_text("utf-8")) for source in sources])
    out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def _engine(results: Results) -> dict[str, Any]:
    alone, batched = _medians(results, "stages", ALONE), _medians(results, "stages", BATCHED)
    stages: dict[str, dict[str, dict[str, float]]] = {stage: {} for stage in STAGES}
    for name, value in batched.items():
        if (match := _COST.fullmatch(name)) is not None:
            stages[match["stage"]][match["process"]] = {"alone": alone[name], "batched": value}
    drained = _medians(results, "drain")
    node = next((value for name, value in drained.items() if name.startswith(f"processor time of {NODE} ")), None)
    if node is None:
        raise Unfit("no results of the scenario drain")
    return {
        "stages_us": stages,
        "running_us": max(0.0, node - sum(stages[stage][NODE]["batched"] for stage in RUN)),
        "log_bytes": {
            stage: {"alone": alone[name], "batched": batched[name]}
            for stage in STAGES
            if stage in COMMITS and (name := f"{stage}: log") in batched
        },
        "trip_ms": batched.get("round trip", 0.0),
        "commit_ms": batched.get("commit", 0.0),
        "history_bytes": {name.removeprefix(HISTORY): size for name, size in batched.items() if HISTORY in name},
        "rows": {name: value for name, value in batched.items() if name in CHANGES},
    }


def _medians(results: Results, scenario: str, case: str | None = None) -> dict[str, float]:
    """Read the medians of a case, or of the first one of a scenario."""
    found = [each for each in results if each["scenario"] == scenario and case in {None, each["case"]}]
    if not found and scenario == "stages":
        raise Unfit(f"no results of {scenario} in {case}")
    return {figure["name"]: figure["median"] for figure in found[0]["figures"]} if found else {}


def _checks(results: Results) -> Iterable[dict[str, Any]]:
    """Keep what the simulation is held against."""
    for each in results:
        if (name := _CHECKED.get(each["scenario"])) is not None:
            figures = {figure["name"]: figure["median"] for figure in each["figures"]}
            late = {"p50_ms": figures[f"{name} p50"], "p99_ms": figures[f"{name} p99"]}
            yield {"scenario": each["scenario"], "case": each["case"], "engine": each["engine"], **late}
