"""
The engine suites on every engine that this machine has: `python -m tests.matrix`, or `make matrix`.

Looked for are PostgreSQL in the wheel and in /usr/lib/postgresql, Redis in the wheel, and `redis-server`,
`valkey-server` and `pgbouncer` on the PATH. What is elsewhere is named in the environment, several separated as in
PATH: `MATRIX_POSTGRES` lists folders of programs, `MATRIX_REDIS` programs. Each engine is tried beside the others of
the wheels, chosen by the variables that `deploy.local` and `tests.postgres_server` describe. Ends with 1 if any test
failed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.local import postgres_programs, redis
from tests.postgres import pooler

CHECKOUT: Final = Path(__file__).parents[1]
END_TO_END: Final = "tests/end_to_end/test_engines.py"
ON_POSTGRES: Final = ("tests/contracts", "tests/postgres", END_TO_END, "-k", "postgres")
THROUGH_POOLER: Final = ("tests/contracts", "tests/postgres/test_pooler.py", END_TO_END, "-k", "postgres")
ON_REDIS: Final = ("tests/contracts", "tests/redis", END_TO_END, "-k", "redis")
_CHOICES: Final = (postgres_programs.CHOICE, redis.CHOICE, pooler.CHOICE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One engine, by what it calls itself, and the suites for it."""

    engine: str
    program: Path
    chosen_by: str
    suites: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of the tests of an entry; skipped ones by their reason."""

    passed: int
    failed: int
    skipped: Counter[str]
    seconds: float
    output: str

    @property
    def is_good(self) -> bool:
        """True if tests ran and none failed."""
        return self.failed == 0 and self.passed > 0


def entries() -> Iterator[Entry]:
    """Find every engine, each program once."""
    folders = {folder.resolve(): folder for folder in _postgres_folders()}
    for folder in sorted(folders.values(), key=postgres_programs.major_version):
        engine = _version(folder / "postgres")
        yield Entry(engine=engine, program=folder, chosen_by=postgres_programs.CHOICE, suites=ON_POSTGRES)
    if pooler.PROGRAM is not None:
        program = Path(pooler.PROGRAM)
        yield Entry(engine=_version(program), program=program, chosen_by=pooler.CHOICE, suites=THROUGH_POOLER)
    programs = {program.resolve(): program for program in _redis_programs()}
    for program in programs.values():
        yield Entry(engine=_version(program), program=program, chosen_by=redis.CHOICE, suites=ON_REDIS)


def missing() -> Iterator[str]:
    """Name what is not on this machine."""
    if not list(Path("/usr/lib/postgresql").glob("*/bin/postgres")) and not os.environ.get("MATRIX_POSTGRES"):
        yield "PostgreSQL beside the wheel's"
    if pooler.PROGRAM is None:
        yield "pgbouncer"
    for name in ("redis-server", "valkey-server"):
        if not any(program.name == name for program in _redis_programs()[1:]):
            yield name


def _postgres_folders() -> Sequence[Path]:
    of_wheel = [postgres_programs.programs(version) for version in postgres_programs.available_versions()]
    installed = [program.parent for program in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    return [*of_wheel, *installed, *_listed("MATRIX_POSTGRES")]


def _redis_programs() -> Sequence[Path]:
    on_path = [Path(found) for name in ("redis-server", "valkey-server") if (found := shutil.which(name))]
    return [redis.PROGRAM, *on_path, *_listed("MATRIX_REDIS")]


def _listed(variable: str) -> Sequence[Path]:
    return [Path(name).absolute() for name in os.environ.get(variable, "").split(os.pathsep) if name]


def _version(program: Path) -> str:
    """Ask a program what it is, and leave out what it tells of its build."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout  # noqa: S603 - an engine
    words = said.partition("\n")[0].replace("postgres (PostgreSQL)", "PostgreSQL").replace(" server v=", " ").split()
    return " ".join(words[:2])


def run(entry: Entry) -> Result:
    """Run the suites of an entry to their end, in a process of their own."""
    with tempfile.TemporaryDirectory(prefix="tocsin-matrix-") as name:
        report = Path(name, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
        ended = subprocess.run(  # noqa: S603 - this Python, the suites above
            [*command, *entry.suites],
            cwd=CHECKOUT,
            env=_environment({entry.chosen_by: str(entry.program)}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if not report.exists():
            return Result(passed=0, failed=1, skipped=Counter(), seconds=0, output=ended.stdout)
        return _read(ET.parse(report).getroot(), ended.stdout)  # noqa: S314 - as above


def _environment(chosen: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _CHOICES} | dict(chosen)


def _read(report: ET.Element, output: str) -> Result:
    cases = report.findall(".//testcase")
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = Counter(skip.get("message", "") for case in cases if (skip := case.find("skipped")) is not None)
    return Result(
        passed=len(cases) - len(failed) - skipped.total(),
        failed=len(failed),
        skipped=skipped,
        seconds=sum(float(case.get("time", 0)) for case in cases),
        output=output,
    )


def told(entry: Entry, result: Result) -> str:
    """Give the line of an entry, with a line for each reason to skip."""
    figures = f"{result.passed:>5} passed {result.failed:>3} failed {result.skipped.total():>3} skipped"
    lines = [f"{entry.engine:<20}{figures} {result.seconds:>5.0f} s  {entry.program}"]
    return "\n".join([*lines, *(f"{'':<20}{count:>5} skipped: {reason}" for reason, count in result.skipped.items())])


def main() -> None:
    """Run everything, tell each result once it is there, and the words of pytest where a test failed."""
    results = []
    try:
        for entry in entries():
            results.append(run(entry))
            print(told(entry, results[-1]), flush=True)  # noqa: T201 - this is a command
            if not results[-1].is_good:
                print(results[-1].output, flush=True)  # noqa: T201
    except postgres_programs.PostgresUnavailable as error:
        sys.exit(str(error))
    for name in missing():
        print(f"{name:<20}not on this machine")  # noqa: T201
    sys.exit(0 if results and all(result.is_good for result in results) else 1)


if __name__ == "__main__":
    main()
