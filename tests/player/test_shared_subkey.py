"""An opponent whose later OpenPGP key revokes a subkey that it shares with an earlier one."""

from __future__ import annotations

import pytest

from pbem.proof.normal_form import judged_by_others

EARLIER = """\
-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEZZIAgBYJKwYBBAHaRw8BAQdAS/WPPX27p63mOJP99+/wpcIDqvSfnwDZ41Cn
GysowQG0AWOIkAQTFggAOBYhBC7DOnQa23198pWHeQLoeMTjShJXBQJlkgCAAhsB
BQsJCAcCBhUKCQgLAgQWAgMBAh4BAheAAAoJEALoeMTjShJX7z8BAL2/o2FobVfm
H0nSLao29ackAShMl+FzqPEbjCSvEN1NAP9w2KN+1Att++mkzr/wXPjVp/cpB99A
b53258AhqaVsDbgzBGWSAIAWCSsGAQQB2kcPAQEHQMSFiEQzhkUS+64jmydb/mfd
+50o1sW4SqK052HD0DdfiO8EGBYIACAWIQQuwzp0Gtt9ffKVh3kC6HjE40oSVwUC
ZZIAgAIbAgCBCRAC6HjE40oSV3YgBBkWCAAdFiEElUKffNbKf9BkETvvbdpYQQhE
NTQFAmWSAIAACgkQbdpYQQhENTSxuwD9FsFtBZ/KY0W5CogREuzNmwDauBGF6set
9itZcEwxZKcBAIrcdPQH2sj58OKBW7Q9hAZR/lL/6Vbq0pMkBBgBQhkGYHUA/11O
4dbPl1KghiQis+rsphPaBEzofQdopdWp72gi1V7zAP9AzuVoIJGjdUA4rcHASMAp
qnfmpv7Vr365g3gy1fGMDw==
=OpJU
-----END PGP PUBLIC KEY BLOCK-----
"""

LATER = """\
-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEZZIAgBYJKwYBBAHaRw8BAQdA9uDRz901+cdDzkO81z/W/HQiT9EEibgptvFI
vdbBbSq0AWSIkAQTFggAOBYhBNePYVJ3sPgLjoVzNDygU8nLPRzlBQJlkgCAAhsD
BQsJCAcCBhUKCQgLAgQWAgMBAh4BAheAAAoJEDygU8nLPRzlEQkA/jVLOKlnv/6j
Fmh1zpDuv43/tULiYpiDNGIjnD62XXV7APsGgfHzW+CJmC1SgrlfdXhIhHXTl0fC
kKNG6ZRivXsjBLgzBGWSAIAWCSsGAQQB2kcPAQEHQMSFiEQzhkUS+64jmydb/mfd
+50o1sW4SqK052HD0DdfiHgEKBYIACAWIQTXj2FSd7D4C46FczQ8oFPJyz0c5QUC
ZeEagAIdAwAKCRA8oFPJyz0c5fpGAQCjo9ZI9kPPVJLWPQlMlM9PvLVt3GbGbN5m
clMaFmfjOQEA+yKEM8A7sLtT3/95C20MZaMDuPQNoFOUYY+JzdaNOgeI7wQYFggA
IBYhBNePYVJ3sPgLjoVzNDygU8nLPRzlBQJlkgCAAhsCAIEJEDygU8nLPRzldiAE
GRYIAB0WIQSVQp981sp/0GQRO+9t2lhBCEQ1NAUCZZIAgAAKCRBt2lhBCEQ1NDLL
AQCX5c79GUN5TTBNFtuOoyBtZp/REmlHncgnQHo9Xx9BVgD/c3d7mOAMXUhTrucU
l9bs5OR4Tj0M5UWNUGYsYUvlDgboGAEA1sRCPcqXarlbcykRItFNuCwCWgfZAX8m
6H03HQohF5sBAMCiNngtndUBCvp0WPDYEVg8ttGRGSyIWzMzpPKUvjoE
=ZRRX
-----END PGP PUBLIC KEY BLOCK-----
"""
"""It has the subkey of the earlier key, and says that it is no longer used."""

SIGNED = b"""\
-----BEGIN PGP SIGNED MESSAGE-----
Hash: SHA256

step m1 game 1 turn 1
server play.example
player ann
prev 00
end
-----BEGIN PGP SIGNATURE-----

iHUEARYIAB0WIQSVQp981sp/0GQRO+9t2lhBCEQ1NAUCZbrfAAAKCRBt2lhBCEQ1
NOuiAP4t9P7GscsWULdFTZqGXFXfIpX1MMvAmTzESJhJ9tpmQQEAxqIXrBjDZnt+
xFNshB2EX584s8roi4E1PFw0n/I5DwI=
=Kw1U
-----END PGP SIGNATURE-----
"""


@pytest.mark.parametrize("keys", [(EARLIER, LATER), (LATER, EARLIER)], ids=["beside it", "in place of it"])
def test_a_later_key_takes_back_nothing_that_was_signed(keys: tuple[str, str]) -> None:
    """Otherwise a program would find all earlier letters unsigned, accuse the server, and lose by the clock."""
    assert judged_by_others(SIGNED, keys, "play.example").verdict.kind == "valid"
    assert judged_by_others(SIGNED, [LATER], "play.example").verdict.kind == "revoked"
