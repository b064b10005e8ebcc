"""Everything that can go wrong, under one root; each error has a stable code that API and CLI show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with one field of an input: its dotted path, and the bound it breaks."""

    field: str
    message: str


class TocsinError(Exception):
    """The root of every error that Tocsin raises on purpose; `str(error)` is safe to show a caller."""

    code: ClassVar[str] = "TOCSIN_ERROR"

    def __init__(self, message: str) -> None:
        """Keep the message under a name, because `args` has none."""
        super().__init__(message)
        self.message = message


class InvalidInput(TocsinError):
    """An input breaks a bound; `errors` names every offending field."""

    code: ClassVar[str] = "INVALID_INPUT"

    def __init__(self, errors: Iterable[FieldError]) -> None:
        """Collect the errors, in the order found."""
        self.errors = tuple(errors)
        super().__init__("; ".join(f"{error.field}: {error.message}" for error in self.errors))

    @classmethod
    def of(cls, field: str, message: str) -> InvalidInput:
        """Name a single offending field."""
        return cls([FieldError(field, message)])


class InvalidJob(InvalidInput):
    """A job, or a query about jobs, breaks a bound of the data model."""

    code = "INVALID_JOB"


class InvalidSchedule(InvalidInput):
    """A schedule cannot be read, or never fires."""

    code = "INVALID_SCHEDULE"


class InvalidEvent(InvalidInput):
    """An event breaks a bound: its name, its data, or what came with it."""

    code = "INVALID_EVENT"


class InvalidEventHandler(InvalidInput):
    """An event handler breaks a bound: its pattern, its filter, its action or its limits."""

    code = "INVALID_EVENT_HANDLER"


class HandlerNotFound(InvalidInput):
    """No live node has this handler; `known` lists the ones that exist, sorted."""

    code = "HANDLER_NOT_FOUND"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        """Name the missing handler beside the known ones."""
        self.name = name
        self.known = tuple(sorted(known))
        choice = ", ".join(self.known) or "none is registered"
        super().__init__([FieldError("handler_name", f"no handler is named {name!r} (known: {choice})")])


class NotFound(TocsinError):
    """The thing asked for does not exist for this tenant."""


class JobNotFound(NotFound):
    """No such job for this tenant, or it was deleted."""

    code = "JOB_NOT_FOUND"

    def __init__(self, job_id: object) -> None:
        """Keep the id that was asked for."""
        super().__init__(f"no job {job_id}")
        self.job_id = job_id


class ExecutionNotFound(NotFound):
    """No such execution for this tenant, or retention removed it."""

    code = "EXECUTION_NOT_FOUND"

    def __init__(self, execution_id: object) -> None:
        """Keep the id that was asked for."""
        super().__init__(f"no execution {execution_id}")
        self.execution_id = execution_id


class EventNotFound(NotFound):
    """No such event for this tenant, or retention removed it."""

    code = "EVENT_NOT_FOUND"

    def __init__(self, event_id: object) -> None:
        """Keep the id that was asked for."""
        super().__init__(f"no event {event_id}")
        self.event_id = event_id


class EventHandlerNotFound(NotFound):
    """No such event handler for this tenant, or it was removed."""

    code = "EVENT_HANDLER_NOT_FOUND"

    def __init__(self, handler_id: object) -> None:
        """Keep the id that was asked for."""
        super().__init__(f"no event handler {handler_id}")
        self.handler_id = handler_id


class WorkerNotFound(NotFound):
    """No node is registered under this id: it never was, or it stopped, or has been dead for a day."""

    code = "WORKER_NOT_FOUND"

    def __init__(self, worker_id: str) -> None:
        """Keep the id that was asked for."""
        super().__init__(f"no worker {worker_id}")
        self.worker_id = worker_id


class InvalidTransition(TocsinError):
    """The state machine has no such step; nothing changed."""

    code = "INVALID_TRANSITION"

    def __init__(self, subject: str, current: str, wanted: str) -> None:
        """Keep both states, so that a caller can decide without parsing the text."""
        super().__init__(f"the {subject} is {current} and cannot become {wanted}")
        self.subject = subject
        self.current = current
        self.wanted = wanted


class Conflict(TocsinError):
    """The request collides with something that exists; `existing_id` says with what, where known."""

    code = "CONFLICT"

    def __init__(self, message: str, existing_id: object | None = None) -> None:
        """Keep the id of what is in the way."""
        super().__init__(message)
        self.existing_id = existing_id


class VersionConflict(TocsinError):
    """What is to be changed has changed since the caller read it; nothing was written."""

    code = "VERSION_CONFLICT"

    def __init__(self, expected: int, current: int) -> None:
        """Keep both versions."""
        super().__init__(f"expected version {expected}, but it is at version {current}")
        self.expected = expected
        self.current = current


class ExecutionTimeout(TocsinError):
    """An attempt ran longer than its job allows."""

    code = "EXECUTION_TIMEOUT"


class HandlerFailed(TocsinError):
    """A handler's work failed in a way it understands; `result` is kept with the failed execution."""

    code = "HANDLER_FAILED"

    def __init__(self, message: str, result: object = None) -> None:
        """Keep what the work answered, such as a status and a body."""
        super().__init__(message)
        self.result = result


class LeaseLost(TocsinError):
    """The node that ran the attempt lost its lease; a successor may be running."""

    code = "LEASE_LOST"


class Unavailable(TocsinError):
    """Something that a node cannot do without did not answer within its deadline; trying again may help."""

    code = "UNAVAILABLE"


class DispatcherUnavailable(Unavailable):
    """The pipe did not answer within its deadline; what was handed to it may be carried or not."""


class StoreUnavailable(Unavailable):
    """The store did not answer within its deadline; nothing was changed."""


class ServerUnreachable(StoreUnavailable):
    """No server answered at the address; the message says why."""
