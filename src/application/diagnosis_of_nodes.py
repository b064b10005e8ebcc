"""What may be wrong with the nodes and with what they have to do, and what to do about it: rules over reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ..domain.job import ScheduledJob
from ..ports.reports import Health, HealthStatus, Metrics
from ..ports.stores import Worker
from .diagnosis import Finding, Level

MOST_NAMES: Final = 5
LEDGER: Final = "ledger"

_LEVELS: Final[Mapping[HealthStatus, Level]] = MappingProxyType(
    {HealthStatus.DEGRADED: Level.WARNING, HealthStatus.UNHEALTHY: Level.ERROR}
)
_ADVICE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "store": "the node reaches its database no more: see its log, and what is said of the database below",
        "queue": "start more nodes, or raise TOCSIN_CONCURRENCY; `tocsin top` shows what takes so long",
        "workers": "start a node that has what is missing (`tocsin serve --roles … --handlers …`)",
        "handlers": "`tocsin executions list --status running` shows them; a restart of the node ends them",
        LEDGER: "`tocsin ledger verify` tells job by job what is amiss",
    }
)
_OF_LOOPS: Final = "see the log of the node; a loop that stands still for long is cured by a restart"


def of_health(health: Health) -> Iterator[Finding]:
    """Tell which parts of the node that answered are not as they should be; the ledger is told of by `of_ledger`."""
    for name, part in health.components.items():
        if part.status is not HealthStatus.HEALTHY and name != LEDGER:
            yield Finding(
                level=_LEVELS[part.status],
                subject="node",
                message=f"{name} is {part.status.value}: {part.detail or 'without a reason'}",
                advice=_ADVICE.get(name, _OF_LOOPS),
            )


def of_workers(workers: Sequence[Worker], *, version: str) -> Iterator[Finding]:
    """Look at the nodes, with the eyes of a program of this version."""
    here = [worker for worker in workers if not worker.is_gone]
    yield Finding(
        level=Level.OK if here else Level.ERROR,
        subject="nodes",
        message=f"{len(here)} {'node' if len(here) == 1 else 'nodes'} in touch",
        advice=None if here else "start one with `tocsin serve`",
    )
    versions = sorted({worker.version for worker in here})
    if len(versions) > 1:
        yield Finding(
            level=Level.WARNING,
            subject="nodes",
            message=f"they are of versions {' and '.join(versions)}",
            advice="finish the upgrade: nodes of two versions work together, but only until then",
        )
    elif versions and versions != [version]:
        yield Finding(
            level=Level.NOTE,
            subject="nodes",
            message=f"they are of version {versions[0]}, and this program is {version}",
            advice=f"use the program of version {versions[0]} if something that it shows looks wrong",
        )
    for status, level, advice in (
        ("dead", Level.WARNING, "`tocsin workers` shows when it was last heard of; its work has been taken back"),
        ("drained", Level.NOTE, "`tocsin workers resume ID` has it take work again"),
    ):
        if names := [worker.id for worker in workers if worker.status == status]:
            yield Finding(level=level, subject="nodes", message=f"{_some(names)}: {status}", advice=advice)


def of_handlers(jobs: Iterable[ScheduledJob], workers: Sequence[Worker]) -> Iterator[Finding]:
    """Tell which handlers active jobs need, and no node in touch has."""
    present = {capability for worker in workers if not worker.is_gone for capability in worker.capabilities}
    needed: dict[str, list[str]] = {}
    for job in jobs:
        if job.definition.capability not in present:
            needed.setdefault(job.definition.capability, []).append(job.definition.name)
    for capability, names in sorted(needed.items()):
        yield Finding(
            level=Level.ERROR,
            subject="handlers",
            message=f"no node has {capability}, which {_jobs(len(names))}: {_some(names)}",
            advice=_remedy(capability),
        )
    if not needed:
        yield Finding(level=Level.OK, subject="handlers", message="every active job has a node that can run it")


def of_ledger(metrics: Metrics, health: Health) -> Iterator[Finding]:
    """Tell whether nodes found fires that are not accounted for."""
    part = health.components.get(LEDGER)
    amiss = part is not None and part.status is not HealthStatus.HEALTHY
    if metrics.system.anomalies or amiss:
        detail = part.detail if part is not None and amiss else f"{metrics.system.anomalies} anomalies"
        yield Finding(level=Level.ERROR, subject=LEDGER, message=detail or "anomalies", advice=_ADVICE[LEDGER])
    else:
        yield Finding(level=Level.OK, subject=LEDGER, message="the nodes found every fire of late accounted for")


def _remedy(capability: str) -> str:
    kind, slash, name = capability.partition("/")
    if slash:
        return f"start a node with the module that registers {name} (`tocsin serve --handlers MODULE`)"
    if kind == "command":
        return "start a node that may run commands (`tocsin serve --allow-commands`)"
    return "start a node with the role executor (`tocsin serve`)"


def _jobs(count: int) -> str:
    return "1 active job needs" if count == 1 else f"{count} active jobs need"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NAMES])
    return f"{shown} and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else shown
