"""The interface by which an address is reached."""

from __future__ import annotations

from podium.sweep.runtime.outgoing_network_interface import interface_towards


def test_loopback_is_reached_by_its_interface() -> None:
    assert interface_towards("127.0.0.1") == "lo"


def test_address_that_is_no_ipv4_address_has_none() -> None:
    assert interface_towards("no such host.") is None
