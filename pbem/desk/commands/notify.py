"""`set notify`: a topic beside the mail, where a line says that something is due.

A topic is told nothing but a code before its player has mailed that code back: anybody could name a stranger's.
Implements docs/operating.md, "Notifications".
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pbem.desk.caller import Caller, Reply, refusal, refused
from pbem.desk.daily_limits import NOTIFY_CODE
from pbem.match.transcript import sha256_hex
from pbem.phrase import Phrase, either
from pbem.store.notifications import Topic

if TYPE_CHECKING:
    from pbem.desk.account_keys import Keyring
    from pbem.mail.commands import Command
    from pbem.requests import Notify


def notify(keys: Keyring, caller: Caller, command: Command[Notify]) -> Reply:
    """`set notify`: a topic, whose code is posted there; that code; or that there is to be none."""
    player, value = caller.known_player, command.request.value
    if value == "off":
        keys.topics.drop(player.name)
        return Reply("set_notify", {"state": "off"})
    if value.startswith("https:"):
        return _begin(keys, caller, command, value)
    topic = keys.topics.of(player.name)
    if topic is None or topic.code != value:
        raise refused("set notify", None, Phrase("this is not the code that was posted last"))
    keys.topics.confirm(player.name, topic)
    return Reply("set_notify", {"state": "on", "host": urlsplit(topic.url).netloc})


def _begin(keys: Keyring, caller: Caller, command: Command[Notify], url: str) -> Reply:
    """Have a code posted to a topic: nothing else goes there before it comes back."""
    host, hosts, letters = urlsplit(url).netloc, keys.config.notify.hosts, keys.seats.letters
    if not hosts:
        raise refused("set notify", None, Phrase("this server notifies nobody beside the mail"))
    if host not in hosts:
        raise refused("set notify", host, Phrase("topics are possible at {hosts}", hosts=either(hosts)))
    # By the topic, whoever names it: it may be a stranger's.
    if keys.counts.left(NOTIFY_CODE, caller.now, sha256_hex(url.encode())) < 0:
        return refusal(command, Phrase("too many codes were posted there today; try again tomorrow"))
    code = base64.b32encode(keys.seats.world(caller.now).random(5)).decode().lower()
    language = letters.language_of(caller.known_player)
    text = letters.write(letters.draft("letters/notify_code.txt", code=code), language)
    keys.topics.begin(caller.known_player.name, Topic(url, code, text.strip()), caller.now)
    return Reply("set_notify", {"state": "asked", "host": host})
