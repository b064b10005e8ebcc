"""How many jobs one request carries: a server reads bodies up to a size, and long lists go in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from ...domain.json import Json, encoded

MOST_JOBS: Final = 200
MOST_BYTES: Final = 512 * 1024
"""Of their documents: half of what a server reads, so that there is room for what goes with them."""

T = TypeVar("T")


def in_requests(items: Iterable[T], document: Callable[[T], Json]) -> Iterator[list[T]]:
    """Part a list, in its order, into what one request carries; an item may be larger than that by itself."""
    batch: list[T] = []
    size = 0
    for item in items:
        own = len(encoded(document(item)).encode("utf-8", "replace"))
        if batch and (len(batch) == MOST_JOBS or size + own > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += own
    if batch:
        yield batch
