"""Payloads of built-in handlers as models, and what is wrong with one in Tocsin's words."""

from __future__ import annotations

import re
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from ...domain.errors import FieldError, InvalidJob
from ...domain.json import Json

DAY_MS: Final = 86_400_000

_WORDS: Final = {
    "missing": "is required",
    "extra_forbidden": "is not a known field",
    "model_type": "must be a JSON object",
    "dict_type": "must be a JSON object",
    "list_type": "must be a list",
    "string_type": "must be a string",
    "int_type": "must be a whole number",
}


class Payload(BaseModel):
    """What every payload shares: no conversions, and no unknown fields, which would be typing errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


AnyPayload = TypeVar("AnyPayload", bound=Payload)


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must be valid Unicode") from None
    return text


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not contain NUL")
    return text


Text = Annotated[str, AfterValidator(_encodable)]
Word = Annotated[Text, AfterValidator(_without_nul)]
Url = Annotated[str, Field(min_length=1, max_length=8192), AfterValidator(_encodable)]
Statuses = Annotated[list[Annotated[int, Field(ge=100, le=599)]], Field(min_length=1, max_length=100)]
Milliseconds = Annotated[int, Field(ge=1, le=DAY_MS)]


def parse(model: type[AnyPayload], payload: Json) -> AnyPayload:
    """
    Read a payload.

    Raises:
        InvalidJob: names each field at fault, as `payload.url`.
    """
    try:
        return model.model_validate(payload)
    except ValidationError as error:
        # The cause would carry the input, secrets included, into logs.
        raise InvalidJob(_field_error(details) for details in error.errors(include_url=False)) from None


def _field_error(details: ErrorDetails) -> FieldError:
    path = [str(part) for part in details["loc"] if part != "[key]"]
    return FieldError(".".join(["payload", *path]), _message(details))


def _message(details: ErrorDetails) -> str:
    if words := _WORDS.get(details["type"]):
        return words
    message = details["msg"].removeprefix("Value error, ").partition(" after validation")[0]
    return re.sub(r"^\w+ should ", "must ", message)
