"""Which network addresses are public, whatever form or tunnel they come in."""

from __future__ import annotations

import socket
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import unquote

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
_NAT64: Final = IPv6Network("64:ff9b::/96")
# Not global by the IANA special-purpose registries, but unknown to the oldest Python that Tocsin runs on.
_SPECIAL: Final = (
    IPv4Network("192.0.0.0/24"),
    IPv4Network("192.88.99.0/24"),
    IPv6Network("2001::/23"),
    IPv6Network("3fff::/20"),
)
# A public number, but the platform's own service (wire server) on every machine of Azure.
_PLATFORM: Final = IPv4Address("168.63.129.16")


def is_public(address: Address) -> bool:
    """Answer whether the address, or the IPv4 address that it embeds, belongs to the public internet."""
    address = unwrapped(address)
    if address == _PLATFORM or any(address in network for network in _SPECIAL):
        return False
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def unwrapped(address: Address) -> Address:
    """Take the IPv4 address out of an IPv4-mapped, NAT64 (RFC 6052) or 6to4 (RFC 3056) one."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address


def literal(host: str) -> Address | None:
    """Read a host as an address in any form that the system's resolver takes, such as 127.1 or 0x7f000001."""
    with suppress(ValueError):
        return ip_address(unquote(host))
    with suppress(OSError):
        return IPv4Address(socket.inet_aton(host))
    return None
