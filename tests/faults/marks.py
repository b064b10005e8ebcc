"""What handlers did, by their own account: every attempt of every process, and which of them overlapped."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import inf
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of monotonic seconds; one that has not ended lasts for ever."""

    start: float
    end: float = inf

    def meets(self, other: Span) -> bool:
        """Tell whether the two have more than an edge in common."""
        return max(self.start, other.start) < min(self.end, other.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One start of one attempt: `word` is how it ended, None where no mark says so and its process is the end of it."""

    execution: str
    attempt: int
    job: str
    nominal: str
    process: int
    span: Span
    word: str | None


@dataclass(frozen=True, slots=True)
class Lives:
    """When processes ended and while which of them stood still, in monotonic seconds."""

    deaths: dict[int, float] = field(default_factory=dict)
    stops: dict[int, list[Span]] = field(default_factory=lambda: defaultdict(list))

    def stopped(self, process: int, during: Span) -> bool:
        """Tell whether a process stood still in a stretch of time."""
        return any(stop.meets(during) for stop in self.stops.get(process, ()))


def tries_in(folder: Path, lives: Lives) -> list[Try]:
    """Read every mark that the processes of a folder have left so far."""
    return [each for file in sorted(folder.glob("marks-*")) for each in _tries(file, lives)]


def _tries(file: Path, lives: Lives) -> Iterator[Try]:
    process = int(file.name.removeprefix("marks-"))
    open_tries: dict[tuple[str, int], tuple[float, str, str]] = {}

    def closed(execution: str, attempt: int, end: float, word: str | None) -> Try:
        start, job, nominal = open_tries.pop((execution, attempt))
        span = Span(start=start, end=end)
        return Try(
            execution=execution, attempt=attempt, job=job, nominal=nominal, process=process, span=span, word=word
        )

    for line in file.read_text("utf-8").splitlines():
        word, at, execution, number, job, nominal = line.split()
        key = execution, int(number)
        if word != "start":
            yield closed(*key, float(at), word)
            continue
        if key in open_tries:
            yield closed(*key, inf, None)
        open_tries[key] = float(at), job, nominal
    for execution, attempt in list(open_tries):
        yield closed(execution, attempt, lives.deaths.get(process, inf), None)


def started_twice(tries: Iterable[Try]) -> list[str]:
    """Name the attempts that began more than once: each number is handed out once."""
    starts = Counter((each.execution, each.attempt) for each in tries)
    return [f"attempt {attempt} of {execution} began {count} times" for (execution, attempt), count in starts.items()
            if count > 1]  # fmt: skip


def doubled(tries: Iterable[Try]) -> list[str]:
    """Name the nominal times that ran as two executions."""
    executions: Mapping[tuple[str, str], set[str]] = defaultdict(set)
    for each in tries:
        executions[each.job, each.nominal].add(each.execution)
    return [f"{job} ran {nominal} as {sorted(ids)}" for (job, nominal), ids in executions.items() if len(ids) > 1]


def overlapping(tries: Sequence[Try], lives: Lives) -> list[str]:
    """
    Name the pairs of attempts of one execution that overlapped without leave.

    Leave has an attempt whose process stood still while it ran: it could not know that its lease was gone.
    """
    by_execution: Mapping[str, list[Try]] = defaultdict(list)
    for each in tries:
        by_execution[each.execution].append(each)
    pairs = (pair for attempts in by_execution.values() if len(attempts) > 1 for pair in combinations(attempts, 2))
    return [
        f"attempts {one.attempt} and {other.attempt} of {one.execution} overlapped: {one} {other}"
        for one, other in pairs
        if one.span.meets(other.span) and not any(lives.stopped(each.process, each.span) for each in (one, other))
    ]
