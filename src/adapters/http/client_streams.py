"""Server-sent events as the client reads them, over as many connections as it takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import ValidationError

from ...domain.errors import StoreUnavailable
from .failures import UnexpectedAnswer
from .streams import LAST_EVENT_ID
from .transport import Transport
from .wire.model import Output

AnyOutput = TypeVar("AnyOutput", bound=Output)

DELAYS: Final = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 4.0)
"""Seconds before each attempt to go on where a stream was cut; each message begins the count anew."""

LINE_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of one line that are read before what is sent is taken for something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One message; without data it tells the id alone, behind which to go on."""

    id: str | None
    event: str
    data: str

    def read(self, model: type[AnyOutput]) -> AnyOutput:
        """
        Read its data.

        Raises:
            UnexpectedAnswer: it is not what a Tocsin server sends.
        """
        try:
            return model.model_validate_json(self.data)
        except ValidationError:
            raise UnexpectedAnswer("not what a Tocsin server sends in a stream", status=200) from None


@asynccontextmanager
async def follow(
    transport: Transport, path: str, query: Iterable[tuple[str, str]], *, after: str | None = None
) -> AsyncIterator[AsyncGenerator[Received, None]]:
    """
    Read a stream; one that is cut goes on behind the last message, unless the server stays away.

    Raises:
        ServerUnreachable, StoreUnavailable: nobody answered, at first or `DELAYS` times in a row.
        TocsinError: what the server's problem document says.
    """
    async with aclosing(_resumed(transport, path, list(query), after)) as messages:
        yield messages


async def _resumed(
    transport: Transport, path: str, query: list[tuple[str, str]], after: str | None
) -> AsyncGenerator[Received, None]:
    attempts, has_begun = 0, False
    while True:
        headers = {} if after is None else {LAST_EVENT_ID: after}
        lost: StoreUnavailable | None = None
        try:
            async with transport.stream(path, query=query, headers=headers) as parts, aclosing(_read(parts)) as read:
                async for message in read:
                    attempts, has_begun = 0, True
                    after = message.id or after
                    yield message
        except StoreUnavailable as error:
            lost = error
        if lost is not None and (not has_begun or attempts == len(DELAYS)):
            raise lost
        await asyncio.sleep(DELAYS[min(attempts, len(DELAYS) - 1)])
        attempts += 1


async def _read(parts: AsyncIterator[bytes]) -> AsyncGenerator[Received, None]:
    """Read messages as WHATWG HTML, 9.2.6, has it, of lines that end in LF."""
    rest, fields = b"", dict[str, list[str]]()
    async for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        if len(rest) > LINE_LIMIT:
            raise UnexpectedAnswer("a line of a stream is too long for a Tocsin server", status=200)
        for line in lines:
            if not line and (message := _message(fields)):
                yield message
            if not line:
                fields = {}
                continue
            name, _, value = line.decode("utf-8", "replace").partition(":")
            fields.setdefault(name, []).append(value.removeprefix(" "))


def _message(fields: dict[str, list[str]]) -> Received | None:
    if "id" not in fields and "data" not in fields:
        return None
    return Received(
        id=fields["id"][-1] if "id" in fields else None,
        event=fields.get("event", ["message"])[-1],
        data="\n".join(fields.get("data", [])),
    )
