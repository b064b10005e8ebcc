"""The OpenAPI document and the page made from it, held against what is really served."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.http.nodes import Api, StillNode
from tocsin.adapters.http import create_app
from tocsin.adapters.http.dashboard import FILES, PAGES, SURROUNDINGS
from tocsin.domain.definition import INTEGER_BOUNDS, TEXT_BOUNDS
from tocsin.ports.queries import LIMIT_BOUNDS


async def test_the_document_is_valid_openapi(api: Api) -> None:
    OpenAPIV31SpecValidator(api.document).validate()


async def test_the_document_lists_every_route_but_the_pages_for_people_and_no_other(node: StillNode, api: Api) -> None:
    served = {
        (route.resource.canonical, route.method)
        for route in create_app(node.face()).router.routes()
        if route.resource is not None and route.method != "HEAD"
    }
    described = {(path, method.upper()) for path, methods in api.document["paths"].items() for method in methods}

    assert served - described == {(path, "GET") for path in (*PAGES, FILES, SURROUNDINGS)}
    assert described <= served


async def test_every_operation_has_a_name_of_its_own_and_lists_its_problems(api: Api) -> None:
    operations = [(m, o) for methods in api.document["paths"].values() for m, o in methods.items()]

    assert len({operation["operationId"] for _, operation in operations}) == len(operations)
    for method, operation in operations:
        assert {"400", "403", "422", "500", "503"} <= set(operation["responses"])
        assert ("415" in operation["responses"]) is (method != "get")


async def test_the_document_has_the_bounds_of_the_domain(api: Api) -> None:
    job = api.document["components"]["schemas"]["JobIn"]["properties"]

    for name, (lowest, highest) in INTEGER_BOUNDS.items():
        schema = _not_null(job[name])
        assert (schema["minimum"], schema["maximum"]) == (lowest, highest)
    for name, (shortest, longest) in TEXT_BOUNDS.items():
        schema = _not_null(job[name])
        assert (schema["minLength"], schema["maxLength"]) == (shortest, longest)


async def test_the_document_has_the_parameters_of_each_route(api: Api) -> None:
    def parameters(path: str, method: str) -> dict[str, Any]:
        return {each["name"]: each for each in api.document["paths"][f"/api/v1{path}"][method]["parameters"]}

    jobs = parameters("/jobs", "get")
    assert (jobs["limit"]["schema"]["minimum"], jobs["limit"]["schema"]["maximum"]) == LIMIT_BOUNDS
    assert jobs["tags_all"]["schema"]["type"] == "array"
    assert set(parameters("/jobs/{job_id}", "patch")) == {"job_id", "If-Match"}
    assert set(parameters("/jobs", "post")) == {"on_conflict"}


async def test_a_patch_claims_no_defaults(api: Api) -> None:
    patch = api.document["components"]["schemas"]["JobPatch"]

    assert "required" not in patch
    assert not any("default" in schema for schema in patch["properties"].values())


@pytest.mark.parametrize(
    ("path", "names", "status"),
    [
        ("/jobs", {"cron", "interval", "one_time"}, 201),
        ("/jobs/batch", {"two"}, 201),
        ("/jobs/bulk", {"try_to_pause"}, 200),
        ("/schedules/preview", {"cron", "interval", "instant"}, 200),
        ("/events", {"order"}, 202),
        ("/event-handlers", {"escalate", "resolve", "chain"}, 201),
    ],
)
async def test_the_examples_in_the_document_work(api: Api, path: str, names: set[str], status: int) -> None:
    media = api.document["paths"][f"/api/v1{path}"]["post"]["requestBody"]["content"]["application/json"]

    assert set(media["examples"]) == names
    for example in media["examples"].values():
        answer = await api.ask("POST", path, example["value"])
        assert answer.status == status, answer.text


async def test_the_reference_shows_examples_and_words_its_answers_for_people(api: Api) -> None:
    page = (await api.ask("GET", "/docs")).text

    assert "<td>Bad Request</td>" in page
    assert "BadRequest" not in page
    assert "&quot;schedule&quot;: &quot;every 15m&quot;" in page


class Fetches(HTMLParser):
    """Collects what a browser would fetch or run, and the ids that links lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.links: set[str] = set()
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in {"script", "link", "img", "iframe", "object"} or {"src", "style", "onclick"} & set(given):
            self.found.append(tag)
        if (href := given.get("href") or "").startswith("#"):
            self.links.add(href[1:])
        if name := given.get("id"):
            self.ids.append(name)


async def test_the_reference_fetches_nothing_and_shows_everything(api: Api) -> None:
    answer = await api.ask("GET", "/docs")
    page = Fetches()
    page.feed(answer.text)

    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.found == []
    assert page.links <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    for path, methods in api.document["paths"].items():
        assert f"<code>{path}</code>" in answer.text
        assert {operation["operationId"] for operation in methods.values()} <= set(page.ids)


async def test_the_policy_of_the_reference_lets_only_its_own_style_through(api: Api) -> None:
    answer = await api.ask("GET", "/docs")
    [style] = re.findall("<style>(.*)</style>", answer.text, re.DOTALL)

    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = answer.headers["Content-Security-Policy"]
    assert f"style-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "url(" not in style


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    return next((part for part in schema.get("anyOf", ()) if part.get("type") not in {None, "null"}), schema)
