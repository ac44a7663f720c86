"""Which addresses a webhook may be sent to: the internet, and nothing inside."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address

from .channel import UndeliverableError

_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_TEREDO = ipaddress.ip_network("2001::/32")
_SIX_TO_FOUR = ipaddress.ip_network("2002::/16")
_INSIDE = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "168.63.129.16/32")))
"""Services of clouds' own at addresses that count as global, to all or to some versions of Python."""


def checked(host: str, addresses: Iterable[str], *, allow_loopback: bool) -> list[str]:
    """All of the addresses that a name has, if each of them may be sent to. One that may not refuses the name.

    Raises:
        UndeliverableError: There is none, or one of them is not on the internet.
    """
    found = list(dict.fromkeys(addresses))
    for address in found:
        if not _may_be_sent_to(address, allow_loopback=allow_loopback):
            raise UndeliverableError(f"{host} has an address that is not on the internet; nothing is sent there")
    if not found:
        raise UndeliverableError(f"{host} has no address")
    return found


def _may_be_sent_to(address: str, *, allow_loopback: bool) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:  # such as one with a zone: fe80::1%eth0
        return False
    inner = _meant(parsed)
    if inner.is_loopback:
        return allow_loopback and inner == parsed
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
