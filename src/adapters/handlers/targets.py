"""The guard of outgoing calls: a job must not reach what only this node can reach (SSRF)."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from ...domain.errors import HandlerFailed, InvalidInput
from .addresses import Address, Network, is_public, literal, unwrapped

_HOST_NAME: Final = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?")


class TargetRefused(HandlerFailed):
    """An outgoing call was not made, because its target is not one that this node may reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPolicy:
    """Outgoing calls may reach public addresses, and what is allowed here by name or by network."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    @classmethod
    def allowing(cls, entries: Iterable[str]) -> TargetPolicy:
        """
        Read an allow list of host names, addresses and CIDR networks.

        Raises:
            InvalidInput: an entry is none of these; the field is `target_allow`.
        """
        hosts, networks = set[str](), list[Network]()
        for entry in entries:
            match _allowed(entry.strip()):
                case str(host):
                    hosts.add(host)
                case network:
                    networks.append(network)
        return cls(hosts=frozenset(hosts), networks=tuple(networks))

    def check(self, url: str) -> URL:
        """
        Read a URL, and refuse all that can be refused before its host is resolved.

        Raises:
            TargetRefused: no such URL may be called, on any node or on this one.
        """
        target, host = _read(url)
        address = literal(host)
        if address is None:
            if not _HOST_NAME.fullmatch(host):
                raise TargetRefused("the URL has no valid host name")
            return target
        if not self.permits(host, address):
            raise TargetRefused(f"{address} is not a public address, and not in TOCSIN_TARGET_ALLOW")
        # The client resolves no literals, so it must get the very address that was checked.
        return target.with_host(str(address)) if isinstance(address, IPv4Address) else target

    def permits(self, host: str, address: Address) -> bool:
        """Answer whether a call to this host may connect to this address."""
        if _normal(host) in self.hosts:
            return True
        forms = {address, unwrapped(address)}
        return is_public(address) or any(form in network for form in forms for network in self.networks)


class GuardedResolver(AbstractResolver):
    """Resolves a host name only to addresses that the policy permits, so what was checked is what is connected."""

    def __init__(self, policy: TargetPolicy, resolver: AbstractResolver) -> None:
        self._policy = policy
        self._resolver = resolver

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_INET,
    ) -> list[ResolveResult]:
        """
        Resolve as the resolver behind it does.

        Raises:
            TargetRefused: any of the addresses is not permitted; which one is no business of the caller.
        """
        answers = await self._resolver.resolve(host, port, family)
        if not all(self._policy.permits(host, ip_address(answer["host"])) for answer in answers):
            raise TargetRefused(f"{host} has an address that is not public, and not in TOCSIN_TARGET_ALLOW")
        return answers

    async def close(self) -> None:
        """Close the resolver behind it."""
        await self._resolver.close()


def _read(url: str) -> tuple[URL, str]:
    try:
        target = URL(url)
    except ValueError:
        raise TargetRefused("the URL is not valid") from None
    if target.scheme not in {"http", "https"}:
        raise TargetRefused("the URL must start with http:// or https://")
    if target.raw_user is not None or target.raw_password is not None:
        raise TargetRefused("the URL must not contain credentials; send them in a header")
    host = _normal(target.raw_host or "")
    if not host:
        raise TargetRefused("the URL has no host")
    return target, host


def _allowed(entry: str) -> str | Network:
    try:
        if "/" in entry:
            return ip_network(entry)
        address = literal(entry.removeprefix("[").removesuffix("]"))
        if address is not None:
            return ip_network(address)
        host = _normal(URL.build(scheme="http", host=entry).raw_host or "")
    except ValueError as error:
        raise InvalidInput.of("target_allow", f"{entry!r} cannot be read: {error}") from None
    if not _HOST_NAME.fullmatch(host):
        raise InvalidInput.of("target_allow", f"{entry!r} is neither a host name, an address nor a network")
    return host


def _normal(host: str) -> str:
    return host.lower().rstrip(".")
