"""The reference of settings, from the model that reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, get_args

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from docs.site.commands import options_of
from docs.site.markdown import code, plain, table
from tocsin.settings import PREFIX, Settings

INTRODUCTION: Final = """\
# Settings

A setting comes from an option of `tocsin serve`, else from a variable, else from the TOML file that `--config` names,
where its name is that of the variable in lower case and without `TOCSIN_`, else from its default. `tocsin settings`
prints all of them as they are in force, with their source, passwords masked.

A list is written with commas; a password in a URL is percent-encoded. A variable with `_FILE` at the end of its name
names a file that holds the value, as containers and systemd hand over secrets. What tracing reads are
[OpenTelemetry's own variables](../observability.md#where-spans-go).

"""
BOUNDS: Final = {"ge": "at least", "le": "at most", "gt": "more than", "lt": "less than"}


def page() -> str:
    """Write the page."""
    options = {_setting_of(option): option for option in options_of("serve")}
    rows = (_row(name, field, options.get(name)) for name, field in Settings.model_fields.items())
    return INTRODUCTION + table(("variable", "option", "default", ""), rows)


def _setting_of(option: str) -> str:
    return option.removeprefix("--").removeprefix("unsafe-").replace("-", "_")


def _row(name: str, field: FieldInfo, option: str | None) -> tuple[str, str, str, str]:
    words = "; ".join([field.description or "", *_bounds(field), *_choices(field)])
    return code(f"{PREFIX}{name.upper()}"), code(option or ""), _default(name, field), plain(words)


def _default(name: str, field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return {"worker_name": "the machine's name"}[name]
    value = field.default
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return code(str(value).lower())
    return code(",".join(value) if isinstance(value, tuple) else value)


def _bounds(field: FieldInfo) -> Iterator[str]:
    for bound in field.metadata:
        for name, words in BOUNDS.items():
            if (limit := getattr(bound, name, None)) is not None:
                yield f"{words} {re.sub(r'[.]0$', '', str(limit))}"


def _choices(field: FieldInfo) -> Iterator[str]:
    choices = [choice for choice in get_args(field.annotation) if isinstance(choice, str)]
    if choices:
        yield f"one of {', '.join(f'`{choice}`' for choice in choices)}"
