"""What a batch of events finds in the file, and what it leaves there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Final
from uuid import UUID

from ...domain.accounts import Accounts
from ...domain.event import Event
from ...domain.flow import FlowState
from ...domain.job import ScheduledJob
from ...domain.json import encoded
from ...domain.resolution import Cancel, FannedOut, FlowKey, JobKey, Situation, Wanted
from ...ports.events import Fanned, Triggered
from .accounts import insert, load
from .event_handler_rows import counts_row
from .event_rows import event_of, flow_of, flow_row, gathering_row
from .facts import append
from .plans import write_plans
from .readable import readable
from .statements import statements
from .transaction import Transaction, array

_EVENTS: Final = statements("events")
_HANDLERS: Final = statements("event_handlers")


def situation(transaction: Transaction, accounts: Accounts, want: Wanted) -> Situation:
    """Read what a batch of events concerns, and enter its jobs."""
    keyed = _keyed(transaction, list(want.keys))
    cancellable = _cancellable(transaction, list(want.cancels))
    ids = {*want.jobs, *keyed.values(), *(job_id for found in cancellable.values() for job_id in found)}
    return Situation(
        now=transaction.now,
        jobs=_jobs(transaction, accounts, ids),
        keyed=keyed,
        cancellable=cancellable,
        flows=_flows(transaction, want.flows),
    )


def write(transaction: Transaction, accounts: Accounts, decided: FannedOut) -> Fanned:
    """Write what a batch of events comes to, but for the events themselves."""
    written = write_plans(transaction, accounts, decided.plans)
    insert(transaction, decided.created)
    transaction.run_many(_EVENTS["save_gathering"], map(gathering_row, decided.held))
    transaction.run_many(_EVENTS["save_flow"], (flow_row(key, state) for key, state in decided.flows.items()))
    append(transaction, decided.published)
    counts = (counts_row(handler_id, more) for handler_id, more in decided.counts.items())
    transaction.run_many(_HANDLERS["count"], counts)
    return Fanned(
        events=[Triggered(event=event) for event in decided.events],
        dispatches=written.dispatches,
        stopped=written.stopped,
        jobs=len(decided.created) + sum(plan.cancels_open for plan in decided.plans),
    )


def read_events(transaction: Transaction, ids: Iterable[object]) -> list[Event]:
    """Read events, those that are there and can be read, in the order of the ids."""
    rows = transaction.rows(_EVENTS["events_by_ids"], ids=array(ids))
    return [event for _, event in readable(rows, event_of)]


def _jobs(transaction: Transaction, accounts: Accounts, ids: Collection[UUID]) -> dict[UUID, ScheduledJob]:
    return {job.id: job for job in load(transaction, accounts, ids) if job.deleted_at is None} if ids else {}


def _keyed(transaction: Transaction, keys: Sequence[JobKey]) -> dict[JobKey, UUID]:
    if not keys:
        return {}
    rows = transaction.rows(_EVENTS["keyed_jobs"], keys=array(keys))
    return {keys[row["place"]]: UUID(row["id"]) for row in rows}


def _cancellable(transaction: Transaction, cancels: Sequence[Cancel]) -> dict[Cancel, list[UUID]]:
    if not cancels:
        return {}
    wanted = encoded([[each.tenant_id, each.key, list(each.tags)] for each in cancels])
    found: defaultdict[Cancel, list[UUID]] = defaultdict(list)
    for statement in (_EVENTS["jobs_to_cancel_by_key"], _EVENTS["jobs_to_cancel_by_tags"]):
        for row in transaction.rows(statement, cancels=wanted):
            found[cancels[row["place"]]].append(UUID(row["id"]))
    return dict(found)


def _flows(transaction: Transaction, keys: Collection[FlowKey]) -> dict[FlowKey, FlowState]:
    if not keys:
        return {}
    wanted = array((str(handler_id), flow_key) for handler_id, flow_key in keys)
    rows = transaction.rows(_EVENTS["flows"], keys=wanted)
    return {(UUID(row["handler_id"]), row["flow_key"]): flow_of(row) for row in rows}
