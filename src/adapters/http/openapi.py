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
from .reading import JSON
from .wire.event_handlers import EventHandlerOut
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
_ETAG: Final = {"description": "The version, in double quotes.", "schema": _TEXT}
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
        yield from ((body, "validation") for body in endpoint.bodies.values())
        for answered in (each for several in endpoint.answers.values() for each in several):
            if isinstance(answered, type):
                yield answered, "serialization"


def _operation(endpoint: Endpoint[Any, Any], schemas: _Schemas) -> Schema:
    operation: Schema = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        **({"description": endpoint.description} if endpoint.description else {}),
        "parameters": list(_parameters(endpoint, schemas)),
        "responses": _responses(endpoint, schemas),
    }
    if endpoint.bodies:
        content = {media: _body(model, schemas) for media, model in endpoint.bodies.items()}
        operation["requestBody"] = {"required": _needs_body(endpoint), "content": content}
    return operation


def _body(model: type[BaseModel], schemas: _Schemas) -> Schema:
    examples = getattr(model, "examples", {})
    described: Schema = {"schema": schemas.reference(model, "validation")}
    return described | ({"examples": {name: {"value": value} for name, value in examples.items()}} if examples else {})


def _needs_body(endpoint: Endpoint[Any, Any]) -> bool:
    return any(field.is_required() for model in endpoint.bodies.values() for field in model.model_fields.values())


def _parameters(endpoint: Endpoint[Any, Any], schemas: _Schemas) -> Iterator[Schema]:
    for name in re.findall(r"{(\w+)}", endpoint.path):
        described = _WORKER_ID if name == "worker_id" else {"schema": {**_TEXT, "format": "uuid"}}
        yield {"name": name, "in": "path", "required": True, **described}
    for name, schema in schemas.properties(endpoint.query).items():
        described = {"description": schema["description"]} if "description" in schema else {}
        yield {"name": name, "in": "query", "schema": schema, **described}
    if endpoint.beside.versioned:
        yield _IF_MATCH
    for name, description in endpoint.beside.headers.items():
        yield {"name": name, "in": "header", "description": description, "schema": _TEXT}


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
    yield from endpoint.beside.refusals
    if endpoint.beside.conflicts:
        yield HTTPStatus.CONFLICT
    if endpoint.beside.versioned:
        yield HTTPStatus.PRECONDITION_FAILED
    if endpoint.method != "GET":
        yield HTTPStatus.UNSUPPORTED_MEDIA_TYPE


def _content(answers: Sequence[Answered], schemas: _Schemas) -> Schema:
    """Describe what an answer may carry; of several JSON bodies either."""
    content: Schema = {}
    shapes = [schemas.reference(answered, "serialization") for answered in answers if isinstance(answered, type)]
    if shapes:
        content[JSON] = {"schema": shapes[0] if len(shapes) == 1 else {"anyOf": shapes}}
    for media in (answered for answered in answers if isinstance(answered, str)):
        content[media] = {"schema": {} if media == JSON else _TEXT}
    return content


def _headers(status: int, answers: Sequence[Answered]) -> Schema:
    headers = {"ETag": _ETAG} if {JobOut, EventHandlerOut} & set(answers) else {}
    made = status in {HTTPStatus.CREATED, HTTPStatus.ACCEPTED, HTTPStatus.FOUND}
    return headers | {"Location": _LOCATION} if made else headers


def _problems(schemas: _Schemas) -> Schema:
    statuses = sorted({*_ALWAYS, 404, 409, 410, 412, 415})
    return {
        _title(status): {"description": HTTPStatus(status).phrase, "content": _problem(schemas)} for status in statuses
    }


def _problem(schemas: _Schemas) -> Schema:
    return {PROBLEM_TYPE: {"schema": schemas.reference(Problem, "serialization")}}


def _title(status: int) -> str:
    return re.sub(r"\W", "", HTTPStatus(status).phrase.title())
