"""The composer of a server's letters, as its configuration has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.letters.render import Templates
from pbem.mail.compose import Composer, Generation
from pbem.mail.dkim_signing import DkimSigner
from pbem.store.operator import forgotten, generation

if TYPE_CHECKING:
    from pbem.config.server import Config
    from pbem.store.database import Database


def open_composer(config: Config, database: Database | None = None) -> Composer:
    """The composer of a server with this store, whose generation its letters name; raises `BadDkimKey`."""
    dkim = config.dkim
    return Composer(
        config.server,
        config.mail_address.partition("@")[0],
        Templates(),
        address=config.mail_address,
        delimiter=config.delimiter,
        generation=Generation(generation(database), forgotten(database)) if database else None,
        sign=DkimSigner(dkim.selector, config.dkim_domain, dkim.key_file) if dkim.selector else None,
    )
