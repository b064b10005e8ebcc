"""The OpenAPI 3.1 document, made from the endpoints and models that serve, so that it cannot lie."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from .endpoint import Answered, Endpoint, Section
from .problems import PROBLEM_TYPE
from .wire.jobs import JobOut
from .wire.problem import Problem

Schema: TypeAlias = dict[str, Any]
Model: TypeAlias = tuple[type[BaseModel], JsonSchemaMode]

_SCHEMAS: Final = "#/components/schemas/"
_TEXT: Final = {"type": "string"}
_ALWAYS: Final = (400, 403, 413, 422, 500, 503)
_IF_MATCH: Final = {
    "name": "If-Match",
    "in": "header",
    "description": 'Change only this version: its number in double quotes, such as "3".',
    "schema": _TEXT,
}
_WORKER_ID: Final = {
    "description": "The id of a node, as the list of workers has it; its `#` is written `%23`, or the path ends there.",
    "schema": _TEXT,
}
_ETAG: Final = {"description": "The job's version, in double quotes.", "schema": _TEXT}
_LOCATION: Final = {"description": "Where to find what was made.", "schema": _TEXT}


def document(sections: Sequence[Section], *, version: str) -> Schema:
    """Describe endpoints."""
    schemas = _Schemas([endpoint for section in sections for endpoint in section.endpoints])
    paths: Schema = {}
    for section in sections:
        for endpoint in section.endpoints:
            described = {"tags": [section.name], **_operation(endpoint, schemas)}
            paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tocsin",
            "version": version,
            "description": "A job scheduler that accounts for every fire.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        # A node has no authentication yet, and OpenAPI wants that said rather than left out.
        "security": [{}],
        "tags": [{"name": section.name} for section in sections],
        "paths": paths,
        "components": {"schemas": schemas.shared, "responses": _problems(schemas)},
    }


class _Schemas:
    """The JSON schemas of every model, written in one go so that they share their parts."""

    def __init__(self, endpoints: Sequence[Endpoint[Any, Any]]) -> None:
        self._references, definitions = models_json_schema(
            list(dict.fromkeys(_models(endpoints))), ref_template=f"{_SCHEMAS}{{model}}"
        )
        self._all: Mapping[str, Schema] = definitions["$defs"]
        # A query is spread over parameters and is no document that anyone sends.
        queries = {self._name(endpoint.query, "validation") for endpoint in endpoints}
        self.shared = {name: schema for name, schema in self._all.items() if name not in queries}

    def reference(self, model: type[BaseModel], mode: JsonSchemaMode) -> Schema:
        return dict(self._references[model, mode])

    def properties(self, model: type[BaseModel]) -> Mapping[str, Schema]:
        found: Mapping[str, Schema] = self._all[self._name(model, "validation")].get("properties", {})
        return found

    def _name(self, model: type[BaseModel], mode: JsonSchemaMode) -> str:
        return str(self._references[model, mode]["$ref"]).removeprefix(_SCHEMAS)


def _models(endpoints: Sequence[Endpoint[Any, Any]]) -> Iterator[Model]:
    yield Problem, "serialization"
    for endpoint in endpoints:
        yield endpoint.query, "validation"
        if endpoint.takes_body:
            yield endpoint.body, "validation"
        for answered in endpoint.answers.values():
            if isinstance(answered, type):
                yield answered, "serialization"


def _operation(endpoint: Endpoint[Any, Any], schemas: _Schemas) -> Schema:
    operation: Schema = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "parameters": list(_parameters(endpoint, schemas)),
        "responses": _responses(endpoint, schemas),
    }
    if endpoint.takes_body:
        media: Schema = {"schema": schemas.reference(endpoint.body, "validation")}
        if endpoint.body.examples:
            media["examples"] = {name: {"value": value} for name, value in endpoint.body.examples.items()}
        content = {"application/json": media}
        operation["requestBody"] = {"required": _needs_body(endpoint), "content": content}
    return operation


def _needs_body(endpoint: Endpoint[Any, Any]) -> bool:
    return any(field.is_required() for field in endpoint.body.model_fields.values())


def _parameters(endpoint: Endpoint[Any, Any], schemas: _Schemas) -> Iterator[Schema]:
    for name in re.findall(r"{(\w+)}", endpoint.path):
        described = _WORKER_ID if name == "worker_id" else {"schema": {**_TEXT, "format": "uuid"}}
        yield {"name": name, "in": "path", "required": True, **described}
    for name, schema in schemas.properties(endpoint.query).items():
        described = {"description": schema["description"]} if "description" in schema else {}
        yield {"name": name, "in": "query", "schema": schema, **described}
    if endpoint.versioned:
        yield _IF_MATCH


def _responses(endpoint: Endpoint[Any, Any], schemas: _Schemas) -> Schema:
    responses: Schema = {
        str(status): {"$ref": f"#/components/responses/{_title(status)}"} for status in sorted(_refusals(endpoint))
    }
    for status, answered in endpoint.answers.items():
        # Health answers 503 with its own shape; a node that cannot even look answers with a problem.
        content = _content(answered, schemas) | (_problem(schemas) if str(status) in responses else {})
        responses[str(status)] = {
            "description": HTTPStatus(status).phrase,
            **({"content": content} if content else {}),
            **({"headers": headers} if (headers := _headers(status, answered)) else {}),
        }
    return dict(sorted(responses.items()))


def _refusals(endpoint: Endpoint[Any, Any]) -> Iterator[int]:
    yield from _ALWAYS
    if "{" in endpoint.path:
        yield HTTPStatus.NOT_FOUND
    if endpoint.conflicts:
        yield HTTPStatus.CONFLICT
    if endpoint.versioned:
        yield HTTPStatus.PRECONDITION_FAILED
    if endpoint.method != "GET":
        yield HTTPStatus.UNSUPPORTED_MEDIA_TYPE


def _content(answered: Answered, schemas: _Schemas) -> Schema:
    match answered:
        case None:
            return {}
        case str():
            return {answered: {"schema": {} if answered == "application/json" else _TEXT}}
        case _:
            return {"application/json": {"schema": schemas.reference(answered, "serialization")}}


def _headers(status: int, answered: Answered) -> Schema:
    headers = {"ETag": _ETAG} if answered is JobOut else {}
    made = status in {HTTPStatus.CREATED, HTTPStatus.ACCEPTED, HTTPStatus.FOUND}
    return headers | {"Location": _LOCATION} if made else headers


def _problems(schemas: _Schemas) -> Schema:
    statuses = sorted({*_ALWAYS, 404, 409, 412, 415})
    return {
        _title(status): {"description": HTTPStatus(status).phrase, "content": _problem(schemas)} for status in statuses
    }


def _problem(schemas: _Schemas) -> Schema:
    return {PROBLEM_TYPE: {"schema": schemas.reference(Problem, "serialization")}}


def _title(status: int) -> str:
    return re.sub(r"\W", "", HTTPStatus(status).phrase.title())
