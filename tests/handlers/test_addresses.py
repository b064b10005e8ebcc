from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.adapters.handlers.addresses import is_public, literal

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "2606:4700::1111",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::",
]

NOT_PUBLIC = [
    "0.0.0.1",
    "10.1.2.3",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "3fff::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_an_address_that_only_this_node_may_reach_is_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


@given(st.ip_addresses(v=4))
def test_a_tunnel_is_as_public_as_what_it_leads_to(address: IPv4Address | IPv6Address) -> None:
    number = int(address)
    tunnels = [
        IPv6Address((0xFFFF << 32) | number),
        IPv6Address((0x64_FF9B << 96) | number),
        IPv6Address((0x2002 << 112) | (number << 80)),
    ]

    assert [is_public(tunnel) for tunnel in tunnels] == [is_public(address)] * 3


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "0x7f.0.0.0x1"],
)
def test_an_address_is_read_in_every_form_that_the_system_takes(host: str) -> None:
    assert literal(host) == IPv4Address("127.0.0.1")


@pytest.mark.parametrize("host", ["localhost", "1.2.3.4.example", "99999999999", "1.2.3.4.5", "cafe.example"])
def test_a_name_is_no_address(host: str) -> None:
    assert literal(host) is None
