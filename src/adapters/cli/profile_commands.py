"""`tocsin profiles`: several servers under names of one's own."""

from __future__ import annotations

from typing import Annotated

import typer

from ...domain.errors import InvalidInput
from . import profiles
from .completion import complete_profile
from .documents import listing
from .place import checked
from .session import Local, local
from .tables import rows

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What you call it.", autocompletion=complete_profile)]


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command("list")(local(list_profiles))
    group.command("add")(local(add))
    group.command("use")(local(use))
    group.command("remove")(local(remove))


def list_profiles(desk: Local) -> None:
    """List the profiles; a star marks the one in use."""
    known = profiles.load()
    found = [
        {"name": name, "server": server, "current": name == known.current}
        for name, server in sorted(known.servers.items())
    ]
    desk.output.show(
        listing(found),
        lambda _: rows(
            ("", "name", "server"),
            (("*" if each["current"] else "", str(each["name"]), str(each["server"])) for each in found),
            empty="no profiles; `tocsin profiles add NAME URL` makes one",
        ),
    )


def add(
    desk: Local,
    name: NameArgument,
    server: Annotated[str, typer.Argument(metavar="URL", help="Where its node, or the proxy before it, listens.")],
    *,
    use: Annotated[bool, typer.Option("--use", help="Use it from now on.")] = False,
) -> None:
    """
    Add a profile, or give it another address.

    A password is not written down: name a variable that holds it, https://me:${PASSWORD}@host.
    """
    checked(server)
    known = profiles.load().with_server(name, server)
    known = known.using(name) if use else known
    profiles.save(known)
    desk.output.say(
        {"name": name, "server": server, "current": name == known.current}, f"added profile {name}: {server}"
    )


def use(
    desk: Local,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Which one; left out with --none.", autocompletion=complete_profile),
    ] = None,
    *,
    none: Annotated[bool, typer.Option("--none", help="Use none: the default, or TOCSIN_SERVER.")] = False,
) -> None:
    """Use a profile from now on, where no other server is named."""
    if (name is None) != none:
        raise InvalidInput.of("name", "give a name, or --none")
    profiles.save(profiles.load().using(name))
    desk.output.say({"name": name, "current": name is not None}, f"using {name}" if name else "using no profile")


def remove(desk: Local, name: NameArgument) -> None:
    """Remove a profile."""
    profiles.save(profiles.load().without(name))
    desk.output.say({"name": name, "removed": True}, f"removed profile {name}")
