"""How a URL of a server is read before any driver sees it, and what of it may be shown."""

from __future__ import annotations

import re
from typing import Final

MASK: Final = "***"
REMEDY: Final = "cannot be read; percent-encode what is special in it, such as @ as %40, / as %2F and # as %23"

_HOST: Final = r"(?:\[[\w:.%]+\]|[^\s/?#@\[\]:,]+)(?::\d{1,5})?"
# Nothing may be read in two ways: what looks like a host could otherwise be the first half of a password.
_SERVER: Final = re.compile(
    r"(?P<scheme>[a-z][a-z+]*)://"
    r"(?:(?P<user>[^\x00-\x1f/?#@\[\]:]*)(?P<password>:[^\x00-\x1f/?#@\[\]]*)?@)?"
    rf"(?P<place>(?:{_HOST}(?:,{_HOST})*)?(?:/[^\x00-\x1f?#@]*)?)"
    r"(?:\?(?P<query>[^=&#@]+=[^&#@]*(?:&[^=&#@]+=[^&#@]*)*))?"
)
_FILE: Final = re.compile(r"(?P<place>(?:sqlite|memory)://[^?#]*)(?P<rest>.*)", re.DOTALL)

_LOGIN_IS_SECRET: Final = ("redis", "unix")
"""Where somebody who gives one word before the @ may well have meant the password."""

_HARMLESS: Final = frozenset(
    {"application_name", "database", "db", "dbname", "host", "port", "sslmode", "sslrootcert", "target_session_attrs"}
)
_HARMLESS_VALUE: Final = re.compile(r"[\w.,/%+-]*")
_SECRETS: Final = frozenset({"password", "sentinel_password", "sslpassword"})


def is_readable(url: str) -> bool:
    """Tell whether the URL of a server can be read in one way only."""
    return _SERVER.fullmatch(url) is not None


def masked(url: str) -> str:
    """Show a URL without any part of a password; in doubt nothing but its scheme, or nothing at all."""
    if file := _FILE.fullmatch(url):
        return file["place"] + (f"?{MASK}" if file["rest"] else "")
    server = _SERVER.fullmatch(url)
    if server is None:
        scheme = re.match(r"[a-z][a-z+]*://", url)
        return f"{scheme[0] if scheme else ''}{MASK}"
    query = "&".join(_parameter(each) for each in server["query"].split("&")) if server["query"] else ""
    return f"{server['scheme']}://{_login(server)}{server['place']}{query and f'?{query}'}"


def _login(server: re.Match[str]) -> str:
    user, password = server["user"], server["password"]
    if user is None:
        return ""
    if password is None:
        return f"{MASK if server['scheme'].startswith(_LOGIN_IS_SECRET) else user}@"
    return f"{user}:{MASK}@"


def _parameter(text: str) -> str:
    name, _, value = text.partition("=")
    if name in _HARMLESS and _HARMLESS_VALUE.fullmatch(value):
        return text
    # A name that nobody knows may be what follows an & in a password.
    return f"{name}={MASK}" if name in _HARMLESS | _SECRETS else MASK
