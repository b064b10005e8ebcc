"""What a batch of events comes to, as it is written."""

from __future__ import annotations

from typing import Final

from ...domain.accounts import Accounts
from ...domain.resolution import FannedOut
from ...ports.events import Fanned, Triggered
from .event_handler_rows import counts_rows
from .event_rows import event_row, flow_row, held_row, impact_row
from .facts import let_out
from .new_jobs import insert_jobs
from .plans import write_plans
from .statements import statements
from .transaction import Transaction

_EVENTS: Final = statements("events")
_HANDLERS: Final = statements("event_handlers")


async def write_new(transaction: Transaction, accounts: Accounts, decided: FannedOut) -> Fanned:
    """Write events that are new with all that they do, one statement for each table."""
    await transaction.run_for(_EVENTS["insert_events"], [event_row(event) for event in decided.events])
    return await _written(transaction, accounts, decided)


async def write_again(transaction: Transaction, accounts: Accounts, decided: FannedOut) -> Fanned:
    """Write what events that are stored do beside what they did."""
    await transaction.run_for(_EVENTS["save_impacts"], [impact_row(event) for event in decided.events])
    return await _written(transaction, accounts, decided)


async def _written(transaction: Transaction, accounts: Accounts, decided: FannedOut) -> Fanned:
    written = await write_plans(transaction, accounts, decided.plans)
    await insert_jobs(transaction, decided.created)
    flows = [flow_row(key, state) for key, state in decided.flows.items()]
    await transaction.run_for(_EVENTS["save_flows"], flows, now=transaction.now)
    await transaction.run_for(_EVENTS["save_gatherings"], [held_row(held) for held in decided.held])
    await transaction.run_for(_HANDLERS["count_handlers"], counts_rows(decided.counts))
    await let_out(transaction, decided.published)
    return Fanned(
        events=[Triggered(event=event) for event in decided.events],
        dispatches=written.dispatches,
        stopped=written.stopped,
        jobs=len(decided.created) + sum(plan.cancels_open for plan in decided.plans),
    )
