"""A server as a process whose DNS is on this machine: the records of the domains that sign what their users send."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import dns.flags
import dns.message
import dns.rcode
import dns.rrset

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PROGRAM = """\
import dns.asyncresolver

class Resolver(dns.asyncresolver.Resolver):
    def __init__(self):
        super().__init__(configure=False)
        self.nameservers, self.port = ["127.0.0.1"], {port}

dns.asyncresolver.Resolver = Resolver
from pbem.cli import main
main()
"""
"""What runs `pbem` with the name server at a port as its only one."""


@contextmanager
def name_server(
    records: Mapping[str, str | Sequence[str]], rcode: dns.rcode.Rcode = dns.rcode.NOERROR
) -> Iterator[int]:
    """A name server with these TXT records, one or several of a name; yields its port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as place:
        place.bind(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                wire, asker = place.recvfrom(4096)
                if not wire:
                    return
                query = dns.message.from_wire(wire)
                answer = dns.message.make_response(query)
                answer.flags |= dns.flags.RA
                answer.set_rcode(rcode)
                name = query.question[0].name
                found = records.get(name.to_text(omit_final_dot=True), ())
                for record in [found] if isinstance(found, str) else found:
                    pieces = " ".join(f'"{record[at : at + 200]}"' for at in range(0, len(record), 200))
                    answer.answer.append(dns.rrset.from_text(name, 60, "IN", "TXT", pieces))
                place.sendto(answer.to_wire(), asker)

        thread = threading.Thread(target=serve, name="name server")
        thread.start()
        try:
            yield place.getsockname()[1]
        finally:
            place.sendto(b"", place.getsockname())
            thread.join()
