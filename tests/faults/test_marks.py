from __future__ import annotations

from math import inf
from pathlib import Path

from tests.faults.marks import Lives, Span, Try, doubled, overlapping, started_twice, tries_in


def a_try(start: float, end: float = inf, *, attempt: int = 1, process: int = 1, execution: str = "run") -> Try:
    span = Span(start=start, end=end)
    return Try(execution=execution, attempt=attempt, job="job", nominal="noon", process=process, span=span, word="end")


def test_marks_of_a_process_become_tries_and_its_death_ends_what_was_open(tmp_path: Path) -> None:
    (tmp_path / "marks-7").write_text(
        "start 1.0 a 1 job noon\nstart 2.0 b 1 job one\nend 3.0 a 1 job noon\n"
        "start 4.0 c 2 job two\ntold 5.0 c 2 job two\n"
    )

    tries = tries_in(tmp_path, Lives(deaths={7: 6.0}))

    assert {each.execution: (each.span.start, each.span.end, each.word) for each in tries} == {
        "a": (1.0, 3.0, "end"),
        "b": (2.0, 6.0, None),
        "c": (4.0, 5.0, "told"),
    }


def test_attempts_that_follow_each_other_do_not_overlap() -> None:
    assert overlapping([a_try(1, 2), a_try(2, 3, attempt=2, process=2)], Lives()) == []


def test_attempts_that_overlap_are_found_even_if_the_first_never_ends() -> None:
    assert len(overlapping([a_try(1), a_try(9, 10, attempt=2, process=2)], Lives())) == 1


def test_executions_of_their_own_may_overlap() -> None:
    assert overlapping([a_try(1, 3), a_try(2, 4, execution="another")], Lives()) == []


def test_an_attempt_whose_process_stood_still_may_overlap_with_its_successor() -> None:
    lives = Lives()
    lives.stops[1].append(Span(start=2, end=8))

    assert overlapping([a_try(1, 9), a_try(7, 8, attempt=2, process=2)], lives) == []
    assert len(overlapping([a_try(8.5, 9.5), a_try(9, 10, attempt=2, process=2)], lives)) == 1


def test_an_attempt_that_starts_twice_is_found(tmp_path: Path) -> None:
    assert len(started_twice([a_try(1, 2), a_try(3, 4, process=2)])) == 1
    (tmp_path / "marks-7").write_text("start 1.0 a 1 job noon\nstart 2.0 a 1 job noon\nend 3.0 a 1 job noon\n")
    assert len(started_twice(tries_in(tmp_path, Lives()))) == 1


def test_a_nominal_time_that_ran_as_two_executions_is_found() -> None:
    assert doubled([a_try(1, 2), a_try(3, 4, attempt=2)]) == []
    assert len(doubled([a_try(1, 2), a_try(3, 4, execution="another")])) == 1
