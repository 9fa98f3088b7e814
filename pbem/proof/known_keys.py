"""The keys of a bundle's players beside keys that a doubter has from elsewhere: whose key is whose.

A server could list a key of its own as a player's. Here lives the reading of public keys as OpenSSH and forges write
them; nothing is fetched, and no file is opened.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pbem.identity import BadKey, Key, parse_key
from pbem.identity.security_keys import passkey_host
from pbem.proof.compare.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pbem.match.transcript import Entry

_WORD = re.compile(r'(?:[^\s"]|"(?:\\.?|[^"\\])*+(?:"|\Z))++')
"""A quote that nothing closes ends with its line: who looked for its end from each quote would take for ever."""
_TYPE = re.compile(r"(sk-)?(ssh|ecdsa)-.+")
_OPTION = re.compile(
    r"[^,]*=|(no-)?(agent-forwarding|port-forwarding|x11-forwarding|pty|user-rc)(,|$)|restrict(,|$)|\S+-required(,|$)"
)
"""The beginnings of a line's options, sshd(8): another word before a key is a principal, ssh-keygen(1)."""


def keys_in(text: str) -> list[Key]:
    """The keys of one person: lines of authorized_keys, allowed_signers or keys alone, or one key of another format.

    Raises ValueError, with a sentence, if there is none, or if the lines name several people.
    """
    found, people = [], set()
    # Other line ends, such as a form feed, are none to OpenSSH; Notepad begins a file with U+FEFF.
    for line in re.split(r"[\r\n]+", text.removeprefix("\ufeff")):
        words = _WORD.findall(line)
        at = next((at for at in range(min(len(words) - 1, 3)) if _TYPE.fullmatch(words[at])), None)
        # The key of an authority signs certificates, which count nowhere here.
        if line.lstrip().startswith("#") or at is None or "cert-authority" in ",".join(words[:at]).lower().split(","):
            continue
        if at == 2 or (at and not _OPTION.match(words[0].lower())):
            people.add(words[0])
        try:
            found.append(parse_key(" ".join(words[at : at + 2])))
        except BadKey:
            continue
    if len(people) > 1:
        raise ValueError(f"it has keys of several people ({', '.join(sorted(people))}): give the lines of one")
    return found or [parse_key(text)]


def compared(entries: Sequence[Entry], known: Mapping[str, Sequence[Key]]) -> Iterator[Finding]:
    """Comparison of these players' keys in a bundle with known ones; raises ValueError for who is no player."""
    pinned = list(_pinned(entries))
    if strangers := known.keys() - {name for _, name, _, _ in pinned}:
        raise ValueError(f"{', '.join(sorted(strangers))}: nobody of that name plays in this match")
    for seq, name, key, how in pinned:
        if name not in known:
            continue
        if key is None:
            yield Finding("open", f"{name}, {how}", "there is no key to compare", seq)
            continue
        host = passkey_host(key["public"])
        what = f"{name}'s key {key['fingerprint']}" + (f", a passkey of {host}" if host else "")
        same = any((key["format"], key["fingerprint"]) == (one.format, one.fingerprint) for one in known[name])
        yield Finding(
            "agrees" if same else "open", f"{what}, {how}", f"it is {'one' if same else 'none'} of those", seq
        )


def _pinned(entries: Sequence[Entry]) -> Iterator[tuple[int, str, Mapping[str, str] | None, str]]:
    """The keys that came to count, each with the entry, its player's name and how; None for a player without one."""
    names: dict[int, str] = {}
    for entry in entries:
        body = entry.body
        if entry.type == "agreed":
            came = {int(seat): player for seat, player in body["players"].items()}
        else:
            came = {body["seat"]: body["player"]} if entry.type == "substituted" else {}
        for seat, player in came.items():
            names[seat] = player["name"]
            for key in player["keys"] or [None]:
                yield (
                    entry.seq,
                    player["name"],
                    key,
                    "as the seat was taken" if key else "who took the seat without one",
                )
        if entry.type == "keys":
            for key in body["added"]:
                yield entry.seq, names[body["seat"]], key, f"{body['change']} later ({body['how']})"
