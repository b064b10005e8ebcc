"""What the operator may set: by option, variable, a file that a variable names, TOML or default, in this order."""

from __future__ import annotations

import ipaddress
import os
import socket
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from .application.parts import Role
from .domain.errors import FieldError, InvalidInput
from .urls import REMEDY, is_readable, masked

PREFIX: Final = "TOCSIN_"
BY_FILE: Final = "_FILE"
"""What a variable ends in that names the file in which the value stands, as secrets are handed to containers."""

CLIENT_VARIABLES: Final = frozenset({"TOCSIN_SERVER", "TOCSIN_PROFILE"})
"""Variables that commands against a server read, and no setting of a node."""

SQLITE: Final = "sqlite:///"
POSTGRES: Final = ("postgresql://", "postgres://")
MEMORY: Final = "memory://"


def _leads_to_a_trace(address: str) -> bool:
    return address.startswith(("http://", "https://")) and "{trace_id}" in address


def _listed(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _roles(value: object) -> object:
    names, known = _listed(value), ", ".join(Role)
    if names in ((), []):
        raise ValueError(f"name at least one of {known}")
    if isinstance(names, tuple | list) and (unknown := [str(name) for name in names if name not in tuple(Role)]):
        raise ValueError(f"{', '.join(unknown)}: must be some of {known}")
    return names


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class Settings(BaseModel):
    """Every setting with its bounds; `TOCSIN_` and the name in capitals is its variable."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = Field(default="127.0.0.1", description="address to listen on")
    port: int = Field(default=8080, ge=0, le=65535, description="port to listen on; 0 picks a free one")
    probe_port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="port for /health, /ready and /metrics alone, whatever the roles; unset: only the api serves them",
    )
    database_url: str = Field(
        default="sqlite:///tocsin.db",
        description="sqlite:///PATH, postgresql://USER@HOST/DATABASE, or memory:// to keep nothing",
    )
    database_connections: int = Field(
        default=10, ge=2, le=500, description="connections to PostgreSQL at most, beside one for LISTEN"
    )
    database_pooler: bool = Field(
        default=False, description="a pooler in transaction mode stands before PostgreSQL: rely on no session"
    )
    redis_url: str | None = Field(
        default=None,
        description="redis://HOST, redis+sentinel://HOST,HOST/MASTER or redis+cluster://HOST to dispatch through Redis "
        "Streams, rediss… over TLS; unset: through the database",
    )
    events_in: bool = Field(default=True, description="with redis_url: take events from the stream tocsin:events")
    events_out: bool = Field(
        default=False, description="with redis_url: tell every fact of jobs and executions on the stream tocsin:facts"
    )
    handlers: Names = Field(default=(), description="modules to import, which register handlers")
    roles: Annotated[tuple[Role, ...], BeforeValidator(_roles)] = Field(
        default=tuple(Role), description="what this process does"
    )
    samples: bool = Field(default=False, description="make the sample jobs at start, or bring them up to date")
    allow_commands: bool = Field(default=False, description="let jobs run commands of the operating system")
    allow_remote: bool = Field(default=False, description="listen beyond loopback although nobody is authenticated")
    allowed_hosts: Names = Field(default=(), description="names under which clients may address this node")
    target_allow: Names | None = Field(
        default=None, description="hosts and networks that jobs may call although they are not public"
    )
    concurrency: int = Field(default=200, ge=1, le=10_000, description="executions that this node runs at once")
    drain_seconds: float = Field(default=30.0, ge=0, le=3600, description="how long a stop waits for running work")
    retention_days: int = Field(default=30, ge=1, le=3650, description="days for which executions are kept")
    retention_newest: int = Field(
        default=100, ge=0, le=100_000, description="newest executions of a job that are kept whatever their age"
    )
    trace_url: str | None = Field(
        default=None,
        description="where the dashboard leads to for a trace: an http(s) address of Jaeger or Grafana with {trace_id}",
    )
    worker_name: str = Field(
        default_factory=socket.gethostname,
        min_length=1,
        max_length=200,
        description="this node's name among the workers",
    )
    log_format: Literal["console", "json"] = Field(default="console", description="log lines for people or machines")
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="least level logged")

    @model_validator(mode="after")
    def _check_together(self) -> Settings:
        if not (self.listens_on_loopback or self.allow_remote):
            raise ValueError(
                f"host: {self.host} can be reached from other machines, and Tocsin does not authenticate anybody yet; "
                "set allow_remote if something else protects it"
            )
        if not self.database_url.startswith((SQLITE, MEMORY, *POSTGRES)):
            raise ValueError(f"database_url: must start with {SQLITE}, {POSTGRES[0]} or {MEMORY}")
        if self.redis_url is not None and not self.uses_postgres:
            raise ValueError(f"redis_url: goes with a database_url that starts with {POSTGRES[0]}")
        if self.uses_postgres and not is_readable(self.database_url):
            raise ValueError(f"database_url: {REMEDY}")
        if self.trace_url is not None and not _leads_to_a_trace(self.trace_url):
            raise ValueError(
                "trace_url: must be an address with {trace_id}, such as http://jaeger:16686/trace/{trace_id}"
            )
        # Which schemes Redis goes by, its engine says.
        if self.redis_url is not None and "://" in self.redis_url and not is_readable(self.redis_url):
            raise ValueError(f"redis_url: {REMEDY}")
        return self

    @property
    def uses_postgres(self) -> bool:
        """True while the database is a server that other nodes reach as well."""
        return self.database_url.startswith(POSTGRES)

    @property
    def listens_on_loopback(self) -> bool:
        """True while only this machine can reach the node."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def database_path(self) -> Path | None:
        """The SQLite file, relative to the working directory unless it starts with a slash; None in memory."""
        if not self.database_url.startswith(SQLITE):
            return None
        return Path(self.database_url.removeprefix(SQLITE).partition("?")[0])

    @property
    def targets(self) -> Sequence[str]:
        """What outgoing calls may reach beside public addresses: loopback, while the node itself is private."""
        if self.target_allow is not None:
            return self.target_allow
        return ("127.0.0.0/8", "::1", "localhost") if self.listens_on_loopback else ()


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting in force: its variable, its value as text with secrets masked, and where that came from."""

    name: str
    value: str
    source: str
    description: str


def load_settings(
    options: Mapping[str, object], *, environment: Mapping[str, str] = os.environ, file: Path | None = None
) -> Settings:
    """
    Read the settings.

    Raises:
        InvalidInput: names each setting at fault, also one that does not exist.
    """
    named = {
        name: value for source in reversed(_sources(options, environment, file)) for name, value in source[1].items()
    }
    try:
        return Settings.model_validate(named)
    except ValidationError as error:
        raise InvalidInput(_field_errors(error)) from None


def explain(
    options: Mapping[str, object], *, environment: Mapping[str, str] = os.environ, file: Path | None = None
) -> Sequence[Setting]:
    """
    List every setting in force with its source, and then the variables that are none; errors as for `load_settings`.

    The value of a variable that is no setting is not shown, because it may be anything.
    """
    settings = load_settings(options, environment=environment, file=file)
    sources = _sources(options, environment, file)
    known = [
        Setting(
            name=f"{PREFIX}{name.upper()}",
            value=_shown(name, getattr(settings, name)),
            source=next((source for source, named in sources if name in named), "default"),
            description=field.description or "",
        )
        for name, field in Settings.model_fields.items()
    ]
    return [*known, *(Setting(name, "", "unknown, ignored", "") for name in unknown_variables(environment))]


def unknown_variables(environment: Mapping[str, str]) -> Sequence[str]:
    """List the variables that start with `TOCSIN_` and are no setting, sorted: probably typing errors."""
    return sorted(
        name
        for name in environment
        if name.startswith(PREFIX)
        and name not in CLIENT_VARIABLES
        and _field(name.removesuffix(BY_FILE)) not in Settings.model_fields
    )


def _field(variable: str) -> str:
    return variable.removeprefix(PREFIX).lower()


def _sources(
    options: Mapping[str, object], environment: Mapping[str, str], file: Path | None
) -> list[tuple[str, Mapping[str, object]]]:
    """Give the sources, the strongest first."""
    variables = {_field(name): value for name, value in environment.items() if name.startswith(PREFIX)}
    known = Settings.model_fields
    said = {name: value for name, value in variables.items() if name in known}
    # What is said outright wins, so that its file need not even be there.
    kept = {
        name: _content(f"{PREFIX}{name.upper()}{BY_FILE}", Path(variables[by_file]))
        for name in known
        if name not in said and (by_file := f"{name}{BY_FILE.lower()}") in variables
    }
    return [
        ("option", options),
        ("environment", said),
        ("file of the environment", kept),
        (str(file), _from_file(file) if file else {}),
    ]


def _content(variable: str, file: Path) -> str:
    """Read a value that stands alone in a file; the line break that editors add is none of it."""
    try:
        return file.read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput.of(variable, f"cannot read {file}: {error}") from error


def _from_file(file: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput.of("config", f"cannot read {file}: {error}") from error


def _field_errors(error: ValidationError) -> list[FieldError]:
    found = []
    for detail in error.errors(include_url=False):
        message = detail["msg"].removeprefix("Value error, ")
        field = ".".join(str(part) for part in detail["loc"])
        if not field:
            field, _, message = message.partition(": ")
        found.append(FieldError(field, message))
    return found


def _shown(name: str, value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(str(part) for part in value)
    text = "" if value is None else str(value)
    return masked(text) if text and name.endswith("_url") else text
