"""Which addresses may be connected to for somebody else: the internet, and of what is inside only what is allowed."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address
from typing import Literal, TypeAlias

Inside: TypeAlias = Literal["none", "loopback", "private"]
"""What is allowed besides the internet: this machine, or also private networks. Never link-local addresses, where
clouds keep the credentials of a machine."""

_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_TEREDO = ipaddress.ip_network("2001::/32")
_SIX_TO_FOUR = ipaddress.ip_network("2002::/16")
_INSIDE = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "168.63.129.16/32")))
"""Services of clouds' own at addresses that count as global, to all or to some versions of Python."""
_PRIVATE = tuple(map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")))
_METADATA = ipaddress.ip_address("fd00:ec2::254")
"""Where a cloud keeps such credentials in a private network."""


class AddressError(ValueError):
    """A name has no address, or one that may not be connected to. The message names the name only."""


def checked(host: str, addresses: Iterable[str], *, allow: Inside = "none") -> list[str]:
    """All of the addresses that a name has, if each may be connected to. One that may not refuses the name.

    Raises:
        AddressError: There is none, or one of them is not on the internet.
    """
    found = list(dict.fromkeys(addresses))
    for address in found:
        if not _may_be_reached(address, allow):
            raise AddressError(f"{host} has an address that is not on the internet; nothing is sent there")
    if not found:
        raise AddressError(f"{host} has no address")
    return found


def _may_be_reached(address: str, allow: Inside) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:  # such as one with a zone: fe80::1%eth0
        return False
    inner = _meant(parsed)
    if inner.is_loopback:
        return allow != "none" and inner == parsed
    if allow == "private" and inner == parsed and any(inner in network for network in _PRIVATE):
        return inner != _METADATA
    if isinstance(inner, IPv6Address) and (inner not in _GLOBAL_UNICAST or inner in _TEREDO):
        return False
    if inner.is_multicast or inner.is_reserved or any(inner in network for network in _INSIDE):
        return False
    return inner.is_global


def _meant(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 address stands for, where it does."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    if address in _SIX_TO_FOUR:
        return IPv4Address((int(address) >> 80) & 0xFFFF_FFFF)
    return address
