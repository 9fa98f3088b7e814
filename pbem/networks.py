"""Addresses and names of the Internet: the network of a client, whether it is public at all, and host names.

Addresses of one network are counted together, as one sender may have many. An IPv4 address stands for its /24 and an
IPv6 address for its /64, the smallest that is assigned. No sockets in here. Implements reliability.md, "Limits"
(letters a day for each client network) and case 33.
"""

from __future__ import annotations

import ipaddress
import re

PREFIXES = {4: 24, 6: 64}

DOMAIN = re.compile(r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*")
"""Letters, digits and hyphens (RFC 1123 2.1); in lower case, because the name is hashed into what players sign."""

HOST = re.compile(r"(?=.{1,253}\Z)[\w:%-]{1,63}(?:\.[\w:%-]{1,63})*\.?")
"""An address, or a name that IDNA may turn into a domain's; a resolver breaks on an empty label."""

_ELSEWHERE = tuple(map(ipaddress.ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "fec0::/10")))


def network_of(address: str) -> str:
    """The network of an address; an IPv4 address mapped into IPv6 (RFC 4291 2.5.5.2) counts as IPv4; "" for none."""
    if (known := _read(address)) is None:
        return ""
    return str(ipaddress.ip_network((known, PREFIXES[known.version]), strict=False))


def is_of_this_machine(address: str) -> bool:
    """True if a client is on this machine: behind a Unix socket, or at the loopback."""
    known = _read(address)
    return not address or (known is not None and known.is_loopback)


def is_public(address: str) -> bool:
    """True if an address is a machine's on the public Internet, and cannot stand for one of another network.

    NAT64 (RFC 6052, also with a prefix of a provider's own in RFC 8215) and 6to4 (RFC 3056) carry an IPv4 address.
    Addresses of a site (RFC 3879) are obsolete, but private where they are still in use.
    """
    known = _read(address)
    if known is None or not known.is_global or known.is_multicast or known.is_reserved:
        return False
    return not any(known in network for network in _ELSEWHERE)


def _read(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return getattr(known, "ipv4_mapped", None) or known
