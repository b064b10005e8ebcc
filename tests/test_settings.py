from __future__ import annotations

from pathlib import Path

import pytest

from tocsin.domain.errors import InvalidInput
from tocsin.settings import explain, load_settings, unknown_variables

URL = "postgresql://tocsin:secret@db/tocsin"


def secret(folder: Path, content: str = URL) -> dict[str, str]:
    file = folder / "database-url"
    file.write_text(content, "utf-8")
    return {"TOCSIN_DATABASE_URL_FILE": str(file)}


@pytest.mark.parametrize("content", [URL, f"{URL}\n", f"{URL}\r\n"])
def test_a_setting_may_stand_in_a_file_that_a_variable_names(tmp_path: Path, content: str) -> None:
    environment = secret(tmp_path, content)

    assert load_settings({}, environment=environment).database_url == URL
    assert unknown_variables(environment) == []


def test_what_is_said_outright_wins_over_a_file_which_need_not_even_be_there() -> None:
    environment = {"TOCSIN_CONCURRENCY": "7", "TOCSIN_CONCURRENCY_FILE": "/nowhere"}

    assert load_settings({}, environment=environment).concurrency == 7


def test_a_file_of_the_environment_wins_over_the_configuration(tmp_path: Path) -> None:
    configuration = tmp_path / "tocsin.toml"
    configuration.write_text('database_url = "memory://"\nconcurrency = 3\n', "utf-8")

    settings = load_settings({}, environment=secret(tmp_path), file=configuration)

    assert (settings.database_url, settings.concurrency) == (URL, 3)


def test_a_file_that_cannot_be_read_is_told_by_its_variable() -> None:
    with pytest.raises(InvalidInput, match="TOCSIN_REDIS_URL_FILE"):
        load_settings({}, environment={"TOCSIN_REDIS_URL_FILE": "/nowhere"})


def test_a_value_from_a_file_is_judged_like_any_other(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refusal:
        load_settings({}, environment=secret(tmp_path, "mysql://db"))

    assert [error.field for error in refusal.value.errors] == ["database_url"]


def test_a_secret_from_a_file_is_shown_masked_and_with_where_it_came_from(tmp_path: Path) -> None:
    (row,) = [row for row in explain({}, environment=secret(tmp_path)) if row.name == "TOCSIN_DATABASE_URL"]

    assert (row.value, row.source) == ("postgresql://tocsin:***@db/tocsin", "file of the environment")


def test_a_variable_that_names_a_file_for_no_setting_is_unknown() -> None:
    assert unknown_variables({"TOCSIN_PASSWORD_FILE": "/run/secrets/x"}) == ["TOCSIN_PASSWORD_FILE"]


@pytest.mark.parametrize("address", ["http://jaeger:16686/trace/", "jaeger/{trace_id}", "javascript:{trace_id}"])
def test_an_address_that_leads_to_no_trace_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="trace_url"):
        load_settings({"trace_url": address}, environment={})
