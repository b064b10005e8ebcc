from __future__ import annotations

import socket
from ipaddress import ip_address

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from tests.handlers.server import LOOPBACK
from tocsin.adapters.handlers.targets import GuardedResolver, TargetPolicy, TargetRefused
from tocsin.domain.errors import InvalidInput


class Zone(AbstractResolver):
    """Names and their addresses, as a test wants them."""

    def __init__(self, **addresses: list[str]) -> None:
        self._addresses = addresses

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_INET,
    ) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)
            for address in self._addresses[host]
        ]

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://example.com/", "must start with http"),
        ("file:///etc/passwd", "must start with http"),
        ("gopher://example.com/", "must start with http"),
        ("//example.com/", "must start with http"),
        ("example.com", "must start with http"),
        ("", "must start with http"),
        ("http://", "has no host"),
        ("http:///path", "has no host"),
        ("http://./", "has no host"),
        ("http://user:secret@example.com/", "credentials"),
        ("http://user@example.com/", "credentials"),
        ("http://:@example.com/", "credentials"),
        ("http://example.com\\@127.0.0.1/", "not valid"),
        ("http://example.com:99999/", "not valid"),
        ("http://[::1", "not valid"),
        ("http://exa mple.com/", "no valid host name"),
        ("http://ex%61mple.com/", "no valid host name"),
        ("http://-example.com/", "no valid host name"),
        ("http://127.0.0.1/", "not a public address"),
        ("http://127.0.0.1./", "not a public address"),
        ("http://2130706433/", "not a public address"),
        ("http://0x7f000001/", "not a public address"),
        ("http://0177.0.0.1/", "not a public address"),
        ("http://127.1:8080/", "not a public address"),
        ("http://0/", "not a public address"),
        ("http://１２７.0.0.1/", "not a public address"),  # noqa: RUF001  # Full-width digits are the point.
        ("http://[::1]/", "not a public address"),
        ("http://[::ffff:10.0.0.1]/", "not a public address"),
        ("http://[fe80::1%25eth0]/", "not a public address"),
        ("http://169.254.169.254/latest/meta-data", "not a public address"),
    ],
)
def test_a_url_is_refused_before_its_host_is_resolved(url: str, reason: str) -> None:
    with pytest.raises(TargetRefused, match=reason) as refusal:
        TargetPolicy().check(url)

    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/",
        "http://EXAMPLE.com.:8080/a?b=c#d",
        "http://8.8.8.8/",
        "http://[2606:4700::1111]/",
        "http://a_b.example/",
    ],
)
def test_a_public_url_is_let_through(url: str) -> None:
    assert TargetPolicy().check(url).raw_host


@pytest.mark.parametrize(
    ("entries", "url"),
    [
        (LOOPBACK, "http://127.0.0.1:8080/"),
        (LOOPBACK, "http://[::1]:8080/"),
        (LOOPBACK, "http://[::ffff:127.0.0.1]/"),
        (["10.0.0.0/8"], "http://10.9.8.7/"),
        (["10.9.8.7"], "http://10.9.8.7/"),
        (["[fd00::1]"], "http://[fd00::1]/"),
        (["0.0.0.0/0"], "http://169.254.169.254/"),
    ],
)
def test_an_allowed_network_may_be_called(entries: list[str], url: str) -> None:
    assert TargetPolicy.allowing(entries).check(url)


def test_an_allowed_network_opens_no_other() -> None:
    with pytest.raises(TargetRefused):
        TargetPolicy.allowing(["10.0.0.0/24"]).check("http://10.0.1.1/")


def test_a_literal_in_an_odd_form_becomes_the_address_that_was_checked() -> None:
    assert str(TargetPolicy.allowing(LOOPBACK).check("http://0x7f.1:81/a?b=c")) == "http://127.0.0.1:81/a?b=c"


@pytest.mark.parametrize("entry", ["Intranet.Example", "intranet.example.", " intranet.example "])
def test_an_allowed_host_may_have_any_address(entry: str) -> None:
    policy = TargetPolicy.allowing([entry])

    assert policy.permits("intranet.example", ip_address("10.0.0.1"))
    assert not policy.permits("other.example", ip_address("10.0.0.1"))
    assert not policy.permits("sub.intranet.example", ip_address("10.0.0.1"))


@pytest.mark.parametrize("entry", ["", "10.0.0.1/8", "10.0.0.0/33", "http://host/", "host:80", "two words", "*", "a/b"])
def test_an_allow_list_that_cannot_be_read_says_which_entry(entry: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        TargetPolicy.allowing(["good.example", entry])

    (error,) = refusal.value.errors
    assert error.field == "target_allow"
    assert repr(entry) in error.message


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["::1"], ["fe80::1%1"]])
async def test_a_name_with_an_address_that_is_not_public_is_not_resolved(addresses: list[str]) -> None:
    resolver = GuardedResolver(TargetPolicy(), Zone(rebound=addresses))

    with pytest.raises(TargetRefused, match="rebound has an address that is not public") as refusal:
        await resolver.resolve("rebound", 80)

    assert not any(address in str(refusal.value) for address in addresses)


async def test_a_name_with_public_addresses_is_resolved() -> None:
    resolver = GuardedResolver(TargetPolicy(), Zone(good=["8.8.8.8", "1.1.1.1"]))

    assert [answer["host"] for answer in await resolver.resolve("good", 80)] == ["8.8.8.8", "1.1.1.1"]
