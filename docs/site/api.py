"""The reference of the HTTP API, from the OpenAPI document that a node serves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from docs.site.markdown import code, fenced, plain, table
from tocsin import __version__
from tocsin.adapters.http.app import SECTIONS
from tocsin.adapters.http.openapi import document

Schema: TypeAlias = Mapping[str, Any]

INTRODUCTION: Final = """\
# HTTP API

A node serves this description of itself as [OpenAPI 3.1](openapi.json) under `/openapi.json`, and as a page under
`/docs`. Bodies are JSON; an error is a problem document (RFC 9457) whose `code` is one of [these](errors.md). A list
answers `items` with `next_cursor`. `ETag` is the version, for `If-Match`. A `traceparent` is taken up, and answered.

Every answer may also be 400, 403, 413, 500 or 503, and what has a body 415: a [Problem](#problem).

"""
_BOUNDS: Final = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "maxItems": "at most {} entries",
}
_ALWAYS: Final = {"400", "403", "413", "415", "422", "500", "503"}


def openapi() -> Schema:
    """Describe the API as a node does."""
    return document(SECTIONS, version=__version__)


def page() -> str:
    """Write the page."""
    return INTRODUCTION + "".join(_body(openapi()))


def _body(described: Schema) -> Iterator[str]:
    for tag in described["tags"]:
        yield f"## {tag['name']}\n\n"
        for path, methods in described["paths"].items():
            for method, operation in methods.items():
                if tag["name"] in operation["tags"]:
                    yield from _operation(f"{method.upper()} {path}", operation)
    yield "## Shapes\n\n"
    for name, schema in sorted(described["components"]["schemas"].items()):
        yield from _shape(name, schema)


def _operation(name: str, operation: Schema) -> Iterator[str]:
    yield f"### {name} {{ #{operation['operationId']} }}\n\n{plain(operation['summary'])}.\n\n"
    if "description" in operation:
        yield f"{plain(operation['description'])}\n\n"
    if operation["parameters"]:
        yield table(("parameter", "in", "", ""), map(_parameter, operation["parameters"]))
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]
        yield f"Body: {_media(content)}\n\n"
        for media in content.values():
            yield from (
                fenced(json.dumps(each["value"], indent=2), "json") for each in media.get("examples", {}).values()
            )
    answers = ((status, answer) for status, answer in operation["responses"].items() if status not in _ALWAYS)
    yield table(("answer", "", ""), (_answer(status, answer) for status, answer in answers))


def _parameter(parameter: Schema) -> tuple[str, ...]:
    where = f"{parameter['in']}, required" if parameter.get("required") else parameter["in"]
    return code(parameter["name"]), where, _type(parameter["schema"]), _notes({**parameter["schema"], **parameter})


def _answer(status: str, answer: Schema) -> tuple[str, ...]:
    if "$ref" in answer:
        return code(status), _link("Problem"), ""
    return code(status), _media(answer.get("content", {})), plain(answer["description"])


def _media(content: Schema) -> str:
    return " or ".join(dict.fromkeys(_type(media["schema"]) for media in content.values())) or "no body"


def _shape(name: str, schema: Schema) -> Iterator[str]:
    yield f"### {name} {{ #{name.lower()} }}\n\n"
    if words := schema.get("description", "").partition("\n\n")[0]:
        yield f"{plain(words)}\n\n"
    if "properties" not in schema:
        yield f"{_type(schema)}\n\n"
        return
    required = schema.get("required", ())
    yield table(
        ("field", "", ""),
        (
            (code(field) + (" required" if field in required else ""), _type(described), _notes(described))
            for field, described in schema["properties"].items()
        ),
    )


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        return _link(schema["$ref"].rpartition("/")[2])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(map(_type, schema[several]))
    if "enum" in schema:
        return ", ".join(map(code, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return plain(str(schema.get("format") or schema.get("const") or schema.get("type") or "any JSON"))


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _notes(schema: Schema) -> str:
    inner = [part for part in schema.get("anyOf", ()) if part.get("type") != "null"]
    bounded = {**(inner[0] if len(inner) == 1 else {}), **schema}
    bounds = [words.format(bounded[bound]) for bound, words in _BOUNDS.items() if bound in bounded]
    if (default := schema.get("default")) not in (None, [], ""):
        bounds.append(f"default `{json.dumps(default)}`")
    words = schema.get("description", "").rstrip(".")
    return plain(". ".join(part for part in (words, ", ".join(bounds)) if part))
