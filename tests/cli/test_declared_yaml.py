from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tocsin.adapters.cli.declarative.files import read_source
from tocsin.adapters.cli.declarative.places import Unreadable, spelled
from tocsin.adapters.cli.declarative.yaml_text import read_yaml, write_yaml
from tocsin.domain.errors import InvalidInput
from tocsin.domain.json import Json
from tocsin.domain.reconciliation import is_same

# What one version of YAML or another takes for something else than a text.
MISTAKEN = """
    no on y Null ~ 0o14 0x1f 012 1_000 1:30 1e3 .5 - --- << = ? 2026-01-01 2026-01-01T00:00:00Z .inf +.INF True
    #no a: -a &a *a !x @a `a % | > {} [] , ' "
"""
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.sampled_from(["", " ", "# no", "a: b", "- a", "a\n", "\n", *MISTAKEN.split()]),
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
documents: st.SearchStrategy[Json] = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)


@given(document=documents)
def test_what_is_written_is_read_as_the_same(document: Json) -> None:
    assert is_same(read_yaml(write_yaml(document))[0], document)


@given(document=st.dictionaries(texts, documents, max_size=4))
def test_a_reader_of_version_1_1_reads_texts_as_texts(document: Json) -> None:
    assert is_same(yaml.safe_load(write_yaml(document)), document)


@given(document=st.dictionaries(texts, documents, max_size=4))
def test_json_is_read_as_json_has_it(document: Json, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("json") / "jobs.json"
    file.write_text(json.dumps(document))

    assert is_same(read_source(str(file)).document, document)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("1:30", "1:30"),
        ("2026-01-01", "2026-01-01"),
        ("012", 12),
        ("0o14", 12),
        ("0x1F", 31),
        ("1e3", 1000.0),
        ("~", None),
        ("", None),
        ("TRUE", True),
        ("!!str 12", "12"),
        ("{1: a}", {"1": "a"}),
    ],
)
def test_scalars_are_those_of_the_core_schema(text: str, value: Json) -> None:
    assert is_same(read_yaml(text)[0], value)


def test_aliases_and_merged_mappings_are_followed() -> None:
    read, _ = read_yaml("base: &b {a: 1, b: 2}\nmade: {<<: *b, b: 3}\nlist: [*b, {<<: [*b, {c: 4}]}]\n")

    assert read == {
        "base": {"a": 1, "b": 2},
        "made": {"a": 1, "b": 3},
        "list": [{"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 4}],
    }


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\nb: [\n", 3, "is not YAML"),
        ("a: 1\na: 2\n", 2, "'a' is given twice"),
        ("a: &a [*a]\n", 1, "refers to itself"),
        ("a: &a {<<: *a}\n", 1, "refers to itself"),
        ("a: 1\nb: " + "[" * 100_000, 2, "nests too deeply"),
        ("a: 1\n" + "- " * 100_000, 2, "not YAML|nests too deeply"),
        ("a: 1\nb: .nan\n", 2, "no JSON number"),
        ("a: !!binary aGVsbG8=\n", 1, "has no form here: binary"),
        ("a: !thing {}\n", 1, "has no form here"),
        ("? [a]\n: 1\n", 1, "a name must be a text"),
        ("a: {<<: 1}\n", 1, "<< takes a mapping"),
        ("a: 1\n---\nb: 2\n", 2, "is not YAML"),
    ],
)
def test_what_has_no_form_is_refused_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(Unreadable, match=message) as refusal:
        read_yaml(text)

    assert refusal.value.line == line


@pytest.mark.parametrize("opening", ["[", "{<<: ["])
def test_a_few_lines_of_aliases_do_not_become_billions(opening: str) -> None:
    closing = "]}" if opening.endswith(": [") else "]"
    bomb = "".join(f"a{n}: &a{n} {opening}{', '.join([f'*a{n - 1}'] * 10) if n else ''}{closing}\n" for n in range(10))

    with pytest.raises(Unreadable, match="aliases"):
        read_yaml(bomb)


YAML = """\
jobs:
  - key: a
    payload:
      to: [x, y]
  - key: b
"""
JSON = """\
{
  "jobs": [
    {"key": "a",
     "payload": {
       "to": ["x", "y"]}},
    {"key": "b"}
  ]
}
"""
TOML = """\
[[jobs]]
key = "a"
[jobs.payload]
to = ["x", "y"]

[[jobs]]  # the other
key = "b"
"""


@pytest.mark.parametrize(
    ("suffix", "text", "lines"),
    [("yaml", YAML, (2, 4, 5, 5)), ("json", JSON, (3, 5, 6, 6)), ("toml", TOML, (2, 4, 7, 6))],
)
def test_every_format_tells_the_line_of_a_field(
    suffix: str, text: str, lines: tuple[int, int, int, int], tmp_path: Path
) -> None:
    file = tmp_path / f"jobs.{suffix}"
    file.write_text(text)

    source = read_source(str(file))

    paths = [("jobs", 0, "key"), ("jobs", 0, "payload", "to"), ("jobs", 1, "key"), ("jobs", 1, "schedule")]
    assert tuple(source.line(path) for path in paths) == lines
    assert source.document == {"jobs": [{"key": "a", "payload": {"to": ["x", "y"]}}, {"key": "b"}]}


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("jobs.yaml", b"a: [\n", "jobs.yaml:2"),
        ("jobs.json", b'{"a": 1,\n "a": }\n', "jobs.json:2"),
        ("jobs.toml", b"a = 1\nb = \n", "jobs.toml:2"),
        ("jobs.toml", b"a = inf\n", "jobs.toml"),
        ("jobs.toml", b"a = " + b"9" * 5000, "jobs.toml"),
        ("jobs.toml", b"a = " + b"[" * 5000 + b"]" * 5000, "jobs.toml"),
        ("jobs.yaml", b"a: 1\nb: \xff\n", "jobs.yaml:2"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_its_line(name: str, text: bytes, where: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text)

    with pytest.raises(InvalidInput) as refusal:
        read_source(str(tmp_path / name))

    assert [each.field.removeprefix(f"{tmp_path}/") for each in refusal.value.errors] == [where]


def test_a_date_of_toml_is_the_text_of_one(tmp_path: Path) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text("at = 2026-01-01T08:00:00Z\n")

    assert tomllib.loads(file.read_text())["at"].isoformat() == "2026-01-01T08:00:00+00:00"
    assert read_source(str(file)).document == {"at": "2026-01-01T08:00:00+00:00"}


def test_the_way_to_a_field_is_spelled_as_people_do() -> None:
    assert spelled(("jobs", 3, "payload", "to", 0)) == "jobs[3].payload.to[0]"
    assert spelled(()) == "document"
