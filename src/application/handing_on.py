"""How committed work is given to the pipe."""

from __future__ import annotations

from collections.abc import Sequence

from ..ports.dispatcher import Dispatch, Dispatcher
from ..ports.telemetry import Telemetry


async def hand_on(dispatches: Sequence[Dispatch], *, to: Dispatcher, telemetry: Telemetry) -> None:
    """
    Give work to the pipe; one that is broken is only told of.

    What was committed has happened, whatever the pipe says, and a sweeper repeats what it lost.
    """
    if not dispatches:
        return
    try:
        await to.dispatch(dispatches)
    except Exception as error:  # noqa: BLE001 - neither a caller nor an end nor the next fire may wait for the pipe
        telemetry.warning("dispatch.failed", executions=len(dispatches), error=str(error))
