"""Problem documents (RFC 9457), and the error that one came from."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from .model import Output


class FieldErrorOut(Output):
    """What is wrong with one field."""

    field: str
    message: str


class Problem(Output):
    """What went wrong. `code` is stable; the members after it are there where the code has a use for them."""

    type: str = Field(default="about:blank")
    title: str
    status: int
    detail: str
    code: str
    errors: tuple[FieldErrorOut, ...] | None = Field(default=None, description="Each field at fault, with a 422.")
    job_id: str | None = None
    execution_id: str | None = None
    worker_id: str | None = None
    event_id: str | None = None
    handler_id: str | None = Field(default=None, description="With EVENT_HANDLER_NOT_FOUND: the id asked for.")
    existing_id: UUID | None = Field(default=None, description="With CONFLICT: what is in the way.")
    subject: str | None = Field(default=None, description="With INVALID_TRANSITION: job or execution.")
    current: str | None = Field(default=None, description="With INVALID_TRANSITION: its status.")
    wanted: str | None = Field(default=None, description="With INVALID_TRANSITION: what was asked for.")
    expected_version: int | None = None
    current_version: int | None = None
    handler_name: str | None = Field(default=None, description="With HANDLER_NOT_FOUND: what is missing.")
    known_handlers: tuple[str, ...] | None = Field(default=None, description="With HANDLER_NOT_FOUND: what exists.")
