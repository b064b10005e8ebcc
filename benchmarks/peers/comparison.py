"""Outcomes summed up, and set against each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..figures import Better, Summary, summed
from .rounds import Case, Outcome
from .systems import System, Test

HEADLINES = {
    Test.DRAIN: ("jobs", "processor time"),
    Test.INSERT: ("jobs in bulk", "jobs one by one"),
    Test.BURST: ("late p50", "late p99"),
    Test.ONE_SHOT: ("late p50", "late p99"),
}
WORDS = {
    Test.DRAIN: "drain of {jobs:,} stored jobs",
    Test.INSERT: "insertion of {jobs:,} jobs",
    Test.BURST: "{jobs:,} schedules due in the same second",
    Test.ONE_SHOT: "{jobs:,} one-shots, 20 a second",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a system showed in a case: each figure of its runs, and the failures among them."""

    system: System
    summaries: Sequence[Summary]
    failures: Sequence[str]

    def named(self, name: str) -> Summary | None:
        """Find a figure."""
        return next((each for each in self.summaries if each.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All systems in one case."""

    case: Case
    standings: Sequence[Standing]

    @property
    def title(self) -> str:
        """What was done."""
        return WORDS[self.case.test].format(jobs=self.case.jobs)

    @property
    def headlines(self) -> Sequence[str]:
        """The figures by which systems are compared."""
        return HEADLINES[self.case.test]

    def ranked(self, name: str) -> Sequence[tuple[System, Summary]]:
        """List who has the figure, the best first."""
        found = [(each.system, summary) for each in self.standings if (summary := each.named(name)) is not None]
        return sorted(found, key=lambda each: each[1].median, reverse=bool(found) and found[0][1].better is Better.MORE)


def compared(outcomes: Sequence[Outcome]) -> Iterator[Comparison]:
    """Sum up each case, systems in the order in which they first ran."""
    for case in dict.fromkeys(each.case for each in outcomes):
        here = [each for each in outcomes if each.case == case]
        names = dict.fromkeys(each.system.name for each in here)
        yield Comparison(
            case=case, standings=[_standing([each for each in here if each.system.name == name]) for name in names]
        )


def _standing(outcomes: Sequence[Outcome]) -> Standing:
    good = [each.figures for each in outcomes if each.failure is None]
    return Standing(
        system=outcomes[0].system,
        summaries=summed(good) if good else (),
        failures=[each.failure for each in outcomes if each.failure is not None],
    )
