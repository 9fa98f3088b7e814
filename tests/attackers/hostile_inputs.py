"""Inputs that keep `pbem verify`, `--against` and `pbem replay` busy, in any size.

Each is made of a small match that holds, and is the same each time. The server's key is the attacker's, too: chains
are whole and signed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from random import Random
from typing import TYPE_CHECKING, Any

from attackers.forgers import index, saying, with_entry
from msgspec.structs import replace
from world.mutations import SERVER_KEY, signed_again

from pbem.identity.security_keys import mpint, string
from pbem.match.transcript import sha256_hex, statement, voucher
from pbem.proof import bundle
from pbem.proof.bundle import Bundle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_MATCH, _SERVER = "m1", "play.example"


def bundles(match: Bundle, size: int) -> Iterator[tuple[str, bytes]]:
    """Bundles of about so many octets, each with its name; some hold."""
    for name, made in (*_transcripts(match, size), *_papers(match, size)):
        yield name, bundle.write(made)
    for name, key in keys(size):
        players = match.entries[0].body["players"]
        made = with_entry(match, 0, saying(players={**players, "1": {**players["1"], "keys": [key]}}))
        yield name, bundle.write(signed_again(made))
    yield "headers of nothing", struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 0x21, 0, 0, 0, 0, 0) * (size // 30)
    yield "one long name", b"PK\3\4" + bytes(22) + b"\xff\xff\0\0" + b"a" * size
    yield "noise", Random(size).randbytes(size)


def keys(size: int) -> Iterator[tuple[str, dict[str, str]]]:
    """RSA keys with numbers as long as a body may have them, as the transcript lists keys."""
    octets = min(size // 2, 70_000)  # two such numbers in base64 are a text that a body may have
    long, usual = (1 << 8 * octets - 1) + 1, (1 << 3071) + 1
    numbers = {"modulus": (long, 65537), "exponent": (usual, long), "number twice": (long, long - 2)}
    for name, (modulus, exponent) in numbers.items():
        blob = string(b"ssh-rsa") + mpint(exponent) + mpint(modulus)
        yield (
            f"SSH RSA, a long {name}",
            {
                "format": "ssh",
                "fingerprint": "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("="),
                "public": "ssh-rsa " + base64.b64encode(blob).decode(),
            },
        )
        certificate = _certificate(modulus, exponent)
        text = base64.encodebytes(certificate).decode()
        yield (
            f"S/MIME RSA, a long {name}",
            {
                "format": "smime",
                "fingerprint": hashlib.sha256(certificate).digest().hex(":").upper(),
                "public": f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n",
            },
        )


def _signless(number: int) -> bytes:
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    long = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag]) + (bytes([size]) if size < 128 else bytes([0x80 | len(long)]) + long) + content


def _certificate(modulus: int, exponent: int) -> bytes:
    """A certificate of such a key, whose signature is none: no library makes keys so long (RFC 5280 4.1)."""
    algorithm = der(0x30, bytes.fromhex("06092a864886f70d01010b0500"))
    of_key = der(0x30, bytes.fromhex("06092a864886f70d0101010500"))
    numbers = der(0x30, *(der(0x02, _signless(number)) for number in (modulus, exponent)))
    name = der(0x30, der(0x31, der(0x30, bytes.fromhex("0603550403"), der(0x0C, b"x"))))
    times = der(0x30, der(0x17, b"260101000000Z"), der(0x17, b"360101000000Z"))
    key = der(0x30, of_key, der(0x03, b"\0", numbers))
    version = der(0xA0, der(0x02, b"\2"))
    signed = der(0x30, version, der(0x02, b"\1"), algorithm, name, times, name, key)
    return der(0x30, signed, algorithm, der(0x03, b"\0" + bytes(64)))


def _grown(match: Bundle, entries: list[tuple[str, dict[str, Any]]]) -> Bundle:
    """The agreement and these entries, chained and signed, with the letters of the agreement alone."""
    first = match.entries[0]
    made = [first, *(replace(first, type=kind, body=body) for kind, body in entries)]
    return signed_again(Bundle(tuple(made), (), agreement(match)))


def agreement(match: Bundle) -> dict[str, bytes]:
    """The letters on which the first entry rests."""
    return {path: content for path, content in match.papers.items() if path.startswith("letters/agreed-")}


def _transcripts(match: Bundle, size: int) -> Iterator[tuple[str, Bundle]]:
    reason = {"by": "operator", "reason": "x"}
    many = size // 380  # what an entry takes with its signed head, at least
    yield "paused and resumed", _grown(match, [(("paused", "resumed")[n % 2], reason) for n in range(many)])
    moved = {"reason": "x", "seats": [1, 2], "until": match.entries[0].time}
    yield "moved clocks", _grown(match, [("moved", moved)] * many)
    yield "strange entries", _grown(match, [("strange", {"game": n}) for n in range(many)])
    committed = {"1": "0" * 64, "2": "1" * 64}
    begun: dict[str, Any] = {"game": 1, "options": {}, "commitments": committed, "trace": "2" * 64}
    turn = {"game": 1, "orders": {}, "default": [], "shown": {}, "reports": "0" * 64, "trace": "2" * 64}
    turns = [("turn", {**turn, "turn": number}) for number in range(1, size // 520)]
    yield "turns of a game that runs", _grown(match, [("commitments", begun), *turns])
    games: list[tuple[str, dict[str, Any]]] = [("commitments", {**begun, "game": n}) for n in range(size // 1000)]
    revealed = [("revealed", {"game": n, "record": "0" * 64}) for n in range(size // 1000)]
    yield "games begun and revealed", _grown(match, [*games, *revealed])
    for name, value in _values(size).items():
        yield name, _grown(match, [("moved", {"reason": "x", "seats": value, "until": match.entries[0].time})])


def _values(size: int) -> Mapping[str, Any]:
    nested: list[Any] = []
    for _ in range(min(size // 2, 300)):
        nested = [nested]
    text = min(size, bundle.LIMITS.entry_octets - 500)
    return {
        "a long list": [1] * (text // 2 - 100),
        "empty lists": [[]] * (text // 3 - 100),
        "a long text": "x" * text,
        "quotes and backslashes": '\\"' * (text // 4),
        "nested lists": nested,
        "long numbers": [10**4000] * (text // 4002),
        "keys": {f"k{number}": number for number in range(text // 16)},
    }


def _papers(match: Bundle, size: int) -> Iterator[tuple[str, Bundle]]:
    many = {f"letters/x-{number}.eml": b"" for number in range(size // 130)}
    yield "many files", replace(match, papers={**match.papers, **many})
    (key,) = match.entries[0].body["players"]["1"]["keys"]
    player = {**match.entries[0].body["players"]["1"], "keys": [key] * (size // 250)}
    yield "keys of one player", signed_again(with_entry(match, 0, lambda body: body["players"].update({"1": player})))
    names = [f"p{number}" for number in range(size // 10)]
    yield "players", signed_again(with_entry(match, 0, lambda body: body["terms"].update(players=names)))
    report = b'{"reports":[' + b"[]," * (size // 3) + b'1],"salt":"' + b"0" * 64 + b'"}'
    at = index(match, "turn", turn=1)
    paper = replace(match, papers={**match.papers, "reports/game-1-turn-1.json": report})
    yield "a report", signed_again(with_entry(paper, at, lambda body: body.update(reports=sha256_hex(report))))


def kept_letters(match: Bundle, size: int) -> Iterator[tuple[str, bytes]]:
    """Letters of about so many octets that a player may have kept, each with its name."""
    numbers = range(size)
    last, zeros = match.entries[-1], "0" * 64
    head = _head(last.seq, last.head)
    form = "orders m1 turn 1\nserver play.example\nplayer ann\nprev {}\n\n"
    begins = "All setups for game 1 of m1 are in. The commitments to them:"
    listed = begins + "\n  ann: {}\n  bob: {}\n\nx\n"
    texts = {
        "heads": "".join(_head(1 + n % last.seq, sha256_hex(b"%d" % n)) for n in numbers[: size // 380]),
        "papers": "".join(_paper(sha256_hex(b"%d" % n)) for n in numbers[: size // 340]),
        "forms": "".join(form.format(sha256_hex(b"%d" % n)) for n in numbers[: size // 140]),
        "commitments": head + "".join(listed.format(sha256_hex(b"%d" % n), zeros) for n in numbers[: size // 180]),
        "one list": f"{head}{begins} " + "".join(f"a{n}: {zeros}\n" for n in numbers[: size // 75]),
        "beginnings": "Transcript of m1 after entry 1, signed by play.example:\n" * (size // 57),
        "wide digits": ("Transcript of m1 after entry 1, signed by a: head " + ("a" + " " * 90) * 63 + "\n")
        * (size // 5800),
        "long words": (f"{begins} " + "x:" * 30_000 + "\n") * (size // 60_030),
        "blank lines": "setup" + "\n" * size,
        "quotes": "> | >\n" * (size // 6),
    }
    for name, text in texts.items():
        yield name, _mail("text/plain", text.encode())
    pages = {
        "tags": b"<br<" * 10_000 + b"\n",
        "entities": b"&amp" * 10_000 + b"\n",
        "numbers of characters": b"&#" + b"9" * 50_000 + b";\n",
    }
    for name, page in pages.items():
        yield name, _mail("text/html", page * (size // len(page) + 1))
    opening = match.papers["openings/game-1-seat-1.txt"].replace(b"\nend\n", b"\n%d\nend\n")
    document = json.dumps({"pbem": "reports 1", "server": _SERVER, "match": _MATCH, "game": 1, "turn": 1, "seat": 1})
    yield "openings", _mail(*_forwarded([opening % n for n in numbers[: size // (len(opening) + 150)]]))
    reports = [b"%s%d" % (document.encode()[:-1] + b',"x":', n) + b"}" for n in numbers[: size // 250]]
    yield "reports", _mail(*_forwarded(reports))
    small = bundle.write(replace(match, entries=match.entries[:1], signatures=match.signatures[:1], papers={}))
    yield "bundles", _mail(*_forwarded([small] * (size // len(small)), b"m1.pbem.zip"))
    for bracket in (b"[", b"[],"):
        deep = document.encode()[:-1] + b',"x":[' + bracket * (size // len(bracket)) + b"]}"
        yield f"JSON of {bracket.decode()}", _mail(*_forwarded([deep]))


def positions(heads: Iterable[str]) -> bytes:
    """A letter with a position of game 1 for each of these heads, all of them as small as they can be."""
    place = {"pbem": "position 1", "server": _SERVER, "match": _MATCH, "game": 1, "seat": 1, "sealed": {"steps": []}}
    files = [json.dumps({**place, "prev": head, "x": number}) for number, head in enumerate(heads)]
    return _mail(*_forwarded([file.encode() for file in files]))


def _head(seq: int, head: str) -> str:
    signature = SERVER_KEY.sign(statement(_SERVER, _MATCH, seq, head)).hex()
    return f"Transcript of {_MATCH} after entry {seq}, signed by {_SERVER}:\nhead {head}\nsignature {signature}\n"


def _paper(sha256: str) -> str:
    signature = SERVER_KEY.sign(voucher(_SERVER, _MATCH, sha256)).hex()
    return f"Paper of {_MATCH}, signed by {_SERVER}:\nsha256 {sha256}\nsignature {signature}\n"


def _mail(kind: str, body: bytes) -> bytes:
    head = f"From: pbem@{_SERVER}\nSubject: [pbem {_MATCH}]\nMessage-ID: <a@{_SERVER}>\nContent-Type: {kind}\n\n"
    return head.encode() + body


def _forwarded(files: list[bytes], name: bytes = b"x.txt") -> tuple[str, bytes]:
    """Files attached to letters that are attached to a letter: more of them than one may have."""
    at = range(0, len(files), 400)
    before = b"Content-Disposition: attachment; filename=" + name + b"\n\n"
    inner = [_multipart(b"in", [before + file for file in files[start : start + 400]]) for start in at]
    head = b"Content-Type: message/rfc822\n\nContent-Type: multipart/mixed; boundary=in\n\n"
    return "multipart/mixed; boundary=out", _multipart(b"out", [head + letter for letter in inner])


def _multipart(boundary: bytes, parts: list[bytes]) -> bytes:
    return b"".join(b"--" + boundary + b"\n" + part + b"\n" for part in parts) + b"--" + boundary + b"--\n"


def records(size: int) -> Iterator[tuple[str, str]]:
    """Records of about so many characters, each with its name; none is legal."""
    kinds = {
        "nested lists": "x = " + "[" * size,
        "lists in lists": "x = [" + ("[" * 90 + "]" * 90 + ",") * (size // 181) + "]",
        "nested tables": "x = " + "{a=" * (size // 3),
        "a key of many parts": "a." * (size // 2) + "b = 1",
        "keys of many parts": "".join(f"a{n}." + "a." * 97 + "b = 1\n" for n in range(size // 210)),
        "headers of many parts": "".join(f"[a{n}." + "a." * 97 + "b]\n" for n in range(size // 210)),
        "one header of many parts": "".join("[" + "a." * 97 + f"b{n}]\n" for n in range(size // 210)),
        "a long list": "x = [" + "1," * (size // 2) + "]",
        "turns": "[[turn]]\n1 = ''\n" * (size // 16),
        "seats": "[[seat]]\nsetup = ''\n" * (size // 20),
        "a long number": "round = " + "9" * size,
        "a long number, to another base": "round = 0x" + "f" * size,
        "long scores": "[result]\nwinner = 0x" + "f" * (size // 2) + "\nscores = [0x" + "f" * (size // 2) + "]",
        "a long fraction": "x = 1." + "9" * size,
        "escapes": 'note = "' + "\\n" * (size // 2) + '"',
        "continued lines": 'note = """' + "\\\n" * (size // 2) + '"""',
        "comments": "#\n" * (size // 2),
        "keys": "".join(f"k{number} = 1\n" for number in range(size // 10)),
        "options": "[options]\n" + "".join(f"k{number} = 1\n" for number in range(size // 10)),
        "a long setup": "[[seat]]\nsetup = '" + "x " * (size // 2) + "'\n[[seat]]\nsetup = 'x'",
    }
    for name, text in kinds.items():
        yield name, f'record = 1\ngame = "spaceships"\n{text}\n'
