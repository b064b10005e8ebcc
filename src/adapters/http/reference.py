"""The document as one page for people: no scripts, and nothing that a browser would have to fetch."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any, Final, TypeAlias

Schema: TypeAlias = Mapping[str, Any]

_BOUNDS: Final = {
    "minimum": "at least",
    "maximum": "at most",
    "minLength": "at least characters:",
    "maxLength": "at most characters:",
    "maxItems": "at most entries:",
    "default": "default",
}


def load_style() -> str:
    """Read the page's style sheet."""
    return files(__package__).joinpath("reference.css").read_text(encoding="utf-8")


def content_security_policy(style: str) -> str:
    """Let the page's own style through, and nothing else."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    own_style = f"style-src 'sha256-{digest}'"
    return f"default-src 'none'; {own_style}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def page(document: Schema, *, style: str) -> str:
    """Write the reference."""
    info = document["info"]
    body = "".join(_body(document))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(info['title'])} reference</title><style>{style}</style></head>"
        f"<body><header><h1>{_text(info['title'])} <small>{_text(info['version'])}</small></h1>"
        f"<p>{_text(info['description'])}</p></header>{body}</body></html>"
    )


def _body(document: Schema) -> Iterator[str]:
    sections = [tag["name"] for tag in document["tags"]]
    links = [*sections, "Shapes"]
    yield "<nav>"
    yield from (f'<a href="#{_text(link)}">{_text(link)}</a>' for link in links)
    yield '<a href="/openapi.json">OpenAPI document</a></nav><main>'
    for section in sections:
        yield f'<h2 id="{_text(section)}">{_text(section)}</h2>'
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                if section in operation["tags"]:
                    yield from _operation(method, path, operation, document["components"]["responses"])
    yield '<h2 id="Shapes">Shapes</h2>'
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield from _shape(name, schema)
    yield "</main>"


def _operation(method: str, path: str, operation: Schema, shared: Schema) -> Iterator[str]:
    yield f'<details id="{_text(operation["operationId"])}"><summary><b>{_text(method.upper())}</b>'
    yield f"<code>{_text(path)}</code> <span>{_text(operation['summary'])}</span></summary>"
    if "description" in operation:
        yield f"<p>{_text(operation['description'])}</p>"
    if operation["parameters"]:
        yield "<h3>Parameters</h3>"
        yield from _table(_parameter(parameter) for parameter in operation["parameters"])
    if "requestBody" in operation:
        yield f"<h3>Body</h3><p>{_media(operation['requestBody']['content'])}</p>"
        for media in operation["requestBody"]["content"].values():
            yield from (_example(name, example) for name, example in media.get("examples", {}).items())
    yield "<h3>Answers</h3>"
    yield from _table(_answer(status, answer, shared) for status, answer in operation["responses"].items())
    yield "</details>"


def _example(name: str, example: Schema) -> str:
    return f"<p>{_text(name)}</p><pre><code>{_text(json.dumps(example['value'], indent=2))}</code></pre>"


def _parameter(parameter: Schema) -> tuple[str, str, str]:
    place = "required" if parameter.get("required") else parameter["in"]
    name = f"<code>{_text(parameter['name'])}</code> <em>{_text(place)}</em>"
    return name, _type(parameter["schema"]), _notes({**parameter["schema"], **parameter})


def _answer(status: str, answer: Schema, shared: Schema) -> tuple[str, str, str]:
    if "$ref" in answer:
        words = shared[answer["$ref"].rpartition("/")[2]]["description"]
        return f"<code>{_text(status)}</code>", _link("Problem"), _text(words)
    return f"<code>{_text(status)}</code>", _media(answer.get("content", {})), _text(answer["description"])


def _media(content: Schema) -> str:
    return " or ".join(_type(media["schema"]) for media in content.values()) or "no body"


def _shape(name: str, schema: Schema) -> Iterator[str]:
    words = schema.get("description", "").partition("\n")[0]
    yield f'<details id="{_text(name)}"><summary><b>{_text(name)}</b><span>{_text(words)}</span></summary>'
    required = schema.get("required", ())
    if "properties" in schema:
        yield from _table(
            (
                f"<code>{_text(field)}</code>{' <em>required</em>' if field in required else ''}",
                _type(described),
                _notes(described),
            )
            for field, described in schema["properties"].items()
        )
    else:
        yield f"<p>{_type(schema)}</p>"
    yield "</details>"


def _table(rows: Iterator[tuple[str, str, str]]) -> Iterator[str]:
    yield '<div class="table"><table>'
    for row in rows:
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>"
    yield "</table></div>"


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        return _link(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "enum" in schema:
        return " ".join(f"<code>{_text(value)}</code>" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return _text(schema.get("format") or schema.get("const") or schema.get("type") or "any JSON")


def _notes(schema: Schema) -> str:
    inner = [part for part in schema.get("anyOf", ()) if part.get("type") != "null"]
    bounded = {**(inner[0] if len(inner) == 1 else {}), **schema}
    bounds = [
        f"{words} {bounded[bound]}" for bound, words in _BOUNDS.items() if bounded.get(bound) not in (None, [], "")
    ]
    return _text(". ".join(part for part in (schema.get("description", "").rstrip("."), ", ".join(bounds)) if part))


def _link(name: str) -> str:
    return f'<a href="#{_text(name)}">{_text(name)}</a>'


def _text(value: object) -> str:
    return escape(str(value))
