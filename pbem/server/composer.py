"""The composer of a server's letters, as its configuration has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.letters.render import Templates
from pbem.mail.compose import Composer
from pbem.mail.dkim_signing import DkimSigner

if TYPE_CHECKING:
    from pbem.config.server import Config


def open_composer(config: Config, generation: int) -> Composer:
    """The composer of a server whose store is of this generation; raises `BadDkimKey`."""
    dkim = config.dkim
    return Composer(
        config.server,
        config.mail_address.partition("@")[0],
        Templates(),
        address=config.mail_address,
        delimiter=config.delimiter,
        generation=generation,
        sign=DkimSigner(dkim.selector, config.dkim_domain, dkim.key_file) if dkim.selector else None,
    )
