"""Which addresses may be connected to."""

from __future__ import annotations

import pytest

from surehand.addresses import AddressError, checked


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254",
        "100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "fe80::1",
        "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::808:808", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "2002:a00:1::", "2001:0:808:808::1",
        "2001:db8::1", "100::1", "not an address",
    ],
)  # fmt: skip
def test_addresses_inside_are_refused(address: str) -> None:
    with pytest.raises(AddressError, match=r"hook\.test has an address"):
        checked("hook.test", ["93.184.216.34", address])


@pytest.mark.parametrize("address", ["10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "169.254.169.254", "0.0.0.0"])
def test_only_loopback_itself_can_be_allowed(address: str) -> None:
    with pytest.raises(AddressError):
        checked("hook.test", [address], allow="loopback")


def test_addresses_outside_are_kept() -> None:
    outside = ["93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
    assert checked("hook.test", [*outside, outside[0]]) == outside
    with pytest.raises(AddressError, match="has no address"):
        checked("hook.test", [])


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("127.0.0.1", True), ("::1", True), ("10.0.0.1", True), ("172.31.255.255", True), ("192.168.1.1", True),
        ("fd12::1", True), ("169.254.169.254", False), ("fe80::1", False), ("fd00:ec2::254", False),
        ("::ffff:10.0.0.1", False), ("64:ff9b::a00:1", False), ("0.0.0.0", False), ("172.32.0.1", True),
        ("100.100.100.200", False), ("168.63.129.16", False), ("255.255.255.255", False),
    ],
)  # fmt: skip
def test_private_networks_can_be_allowed_and_credentials_of_machines_never(address: str, allowed: bool) -> None:
    if allowed:
        assert checked("shop.test", [address], allow="private") == [address]
    else:
        with pytest.raises(AddressError):
            checked("shop.test", [address], allow="private")
