"""B65: which addresses a webhook may reach."""

from __future__ import annotations

import pytest

from shared.domain.addresses import refusal_of, refusal_of_literal

REFUSED = [
    "0.0.0.0",  # noqa: S104
    "0.1.2.3",
    "10.0.0.5",
    "10.255.255.255",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.0.1",
    "169.254.169.254",  # instance metadata
    "169.254.170.2",  # ECS credentials
    "169.254.170.23",  # EKS credentials
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.7",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",  # IPv4-compatible, deprecated
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:10.0.0.5",
    "::ffff:0:127.0.0.1",  # SIIT
    "64:ff9b::7f00:1",  # NAT64 of 127.0.0.1
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::1",  # NAT64 of a site's own
    "2002:7f00:1::",  # 6to4 of 127.0.0.1
    "2002:a9fe:a9fe::1",  # 6to4 of the metadata address
    "2001::1",  # Teredo
    "2001:10::1",  # ORCHID
    "2001:db8::1",
    "3fff::1",
    "100::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",  # instance metadata
    "fd12:3456:789a::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
]
ALLOWED = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "223.255.255.255",
    "2001:4860:4860::8888",
    "2001:200::1",
    "2606:4700:4700::1111",
    "2a05:d018::1",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
]


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_is_not_public_is_refused_with_a_reason(address: str) -> None:
    assert refusal_of(address)


@pytest.mark.parametrize("address", ALLOWED)
def test_a_public_address_is_allowed(address: str) -> None:
    assert refusal_of(address) is None


@pytest.mark.parametrize("text", ["", "localhost", "127.1", "0x7f000001", "2852039166"])
def test_what_is_no_address_is_never_taken_for_a_public_one(text: str) -> None:
    with pytest.raises(ValueError, match="does not appear to be"):
        refusal_of(text)


@pytest.mark.parametrize(
    "host",
    [
        *["127.0.0.1", "169.254.169.254", "169.254.170.2", "10.0.0.5", "[::1]", "[::ffff:169.254.169.254]"],
        *["[fd00:ec2::254]", "[fe80::1%25eth0]", "2852039166", "0x7f000001", "0X7F.1", "0177.0.0.1", "127.1", "127.1."],
        *["0", "99999999999", "localhost", "LOCALHOST.", "me.localhost"],
    ],
)
def test_an_address_is_refused_in_every_spelling(host: str) -> None:
    """B65."""
    assert refusal_of_literal(host)


@pytest.mark.parametrize("host", ["example.com", "1.1.1.1", "[2606:4700:4700::1111]", "16843009", "0x.example", "a1.2"])
def test_a_name_or_a_public_address_is_left_to_the_connection(host: str) -> None:
    assert refusal_of_literal(host) is None
