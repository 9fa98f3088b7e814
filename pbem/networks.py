"""The network that a client's address belongs to: addresses that are counted together, as one sender may have many.

An IPv4 address stands for its /24 and an IPv6 address for its /64, the smallest that is assigned. No sockets in here.
Implements reliability.md, "Limits" (letters a day for each client network) and case 33.
"""

from __future__ import annotations

import ipaddress

PREFIXES = {4: 24, 6: 64}


def network_of(address: str) -> str:
    """The network of an address; an IPv4 address mapped into IPv6 (RFC 4291 2.5.5.2) counts as IPv4; "" for none."""
    if (known := _read(address)) is None:
        return ""
    return str(ipaddress.ip_network((known, PREFIXES[known.version]), strict=False))


def is_of_this_machine(address: str) -> bool:
    """True if a client is on this machine: behind a Unix socket, or at the loopback."""
    known = _read(address)
    return not address or (known is not None and known.is_loopback)


def _read(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return getattr(known, "ipv4_mapped", None) or known
