"""Which addresses a webhook may reach: those of the public internet, and no other.

By list rather than by `ipaddress.is_global`, whose answers differ between patch releases of Python.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from socket import inet_aton
from typing import Final, NamedTuple

# https://www.iana.org/assignments/iana-ipv4-special-registry
_REFUSED_V4: Final = {
    "this network": IPv4Network("0.0.0.0/8"),
    "private (10/8)": IPv4Network("10.0.0.0/8"),
    "shared (carrier NAT)": IPv4Network("100.64.0.0/10"),
    "loopback": IPv4Network("127.0.0.0/8"),
    "link-local (metadata)": IPv4Network("169.254.0.0/16"),
    "private (172.16/12)": IPv4Network("172.16.0.0/12"),
    "protocol assignments": IPv4Network("192.0.0.0/24"),
    "documentation (192.0.2/24)": IPv4Network("192.0.2.0/24"),
    "6to4 relay": IPv4Network("192.88.99.0/24"),
    "private (192.168/16)": IPv4Network("192.168.0.0/16"),
    "benchmarking": IPv4Network("198.18.0.0/15"),
    "documentation (198.51.100/24)": IPv4Network("198.51.100.0/24"),
    "documentation (203.0.113/24)": IPv4Network("203.0.113.0/24"),
    "multicast": IPv4Network("224.0.0.0/4"),
    "reserved": IPv4Network("240.0.0.0/4"),
}
# https://www.iana.org/assignments/iana-ipv6-special-registry
_PUBLIC_V6: Final = IPv6Network("2000::/3")
_REFUSED_V6: Final = {
    "protocol assignments (Teredo and others)": IPv6Network("2001::/23"),
    "documentation (2001:db8::/32)": IPv6Network("2001:db8::/32"),
    "documentation (3fff::/20)": IPv6Network("3fff::/20"),
}
_6TO4: Final = IPv6Network("2002::/16")
#: Prefixes in front of the 32 bits of an IPv4 address: mapped, translated (SIIT), NAT64.
_EMBEDDING: Final = (IPv6Network("::ffff:0:0/96"), IPv6Network("::ffff:0:0:0/96"), IPv6Network("64:ff9b::/96"))
_V4_BITS: Final = 0xFFFF_FFFF
#: What resolvers take for a number: `2852039166`, `0x7f000001`, `0177.0.0.1`, `127.1`.
_NUMERIC: Final = re.compile(r"(?:0x[0-9a-f]*|\d+)(?:\.(?:0x[0-9a-f]*|\d+)){0,3}\.?", re.ASCII | re.IGNORECASE)
_THIS_MACHINE: Final = ("localhost", ".localhost")


class HostPort(NamedTuple):
    host: str
    #: None is every port of the host.
    port: int | None


def parse_internal_targets(text: str) -> frozenset[HostPort]:
    """`127.0.0.1:*,[::1]:8099,hooks.internal:443`: what may be called although its address is refused.

    Raises ValueError naming the item at fault.
    """
    found = set()
    for item in filter(None, (part.strip() for part in text.split(","))):
        host, colon, port = item.rpartition(":")
        if not colon or not (port == "*" or port.isdecimal()) or not host:
            raise ValueError(f"{item!r} is not host:port, such as 127.0.0.1:8099, or host:*")
        found.add(HostPort(host.strip("[]").lower(), None if port == "*" else int(port)))
    return frozenset(found)


def is_internal(internal: Collection[HostPort], host: str, port: int | None) -> bool:
    """The host, as it is spelled there, may be called whatever its address."""
    name = host.strip("[]").lower()
    return HostPort(name, port) in internal or HostPort(name, None) in internal


def refusal_of_literal(host: str) -> str | None:
    """Why a host that is an address in any spelling, or this machine, is not called; None for every other name."""
    name = host.strip("[]").lower()
    if name.rstrip(".").endswith(_THIS_MACHINE):
        return "loopback"
    try:
        return refusal_of(name)
    except ValueError:
        pass
    if not _NUMERIC.fullmatch(name):
        return None
    try:
        return refusal_of(str(IPv4Address(inet_aton(name.rstrip(".")))))
    except (OSError, ValueError):
        return "this is no address"


def refusal_of(address: str) -> str | None:
    """Why no connection to this address may be made, or None. An IPv6 zone (`%eth0`) is ignored.

    An IPv4 address inside an IPv6 one is judged as what it leads to. Raises ValueError for what is no address.
    """
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv4Address):
        return _refusal_of_v4(parsed)
    embedded = _embedded_in(parsed)
    if embedded is not None:
        return _refusal_of_v4(embedded)
    if parsed not in _PUBLIC_V6:
        return "not in the public range of IPv6"
    return next((name for name, network in _REFUSED_V6.items() if parsed in network), None)


def _refusal_of_v4(address: IPv4Address) -> str | None:
    return next((name for name, network in _REFUSED_V4.items() if address in network), None)


def _embedded_in(address: IPv6Address) -> IPv4Address | None:
    if address in _6TO4:
        return IPv4Address((int(address) >> 80) & _V4_BITS)
    if any(address in network for network in _EMBEDDING):
        return IPv4Address(int(address) & _V4_BITS)
    return None
