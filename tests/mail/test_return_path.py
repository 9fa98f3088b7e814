"""The address in a return path to which servers on the way added a tag, or a way back."""

from __future__ import annotations

import pytest

from pbem.mail.mail_addresses import without_tags

DORA = "dora@mail.example"


@pytest.mark.parametrize(
    "tagged",
    [
        DORA,
        "prvs=0129c1a5=dora@mail.example",
        "PRVS=1234ABCDEF=dora@mail.example",
        "prvs=1234abcdef/dora@mail.example",
        "btv1==0123456ab==dora@mail.example",
        "SRS0=HHHH=TT=mail.example=dora@forwarder.example",
        "SRS0+HhH/=TT=mail.example=dora@forwarder.example",
        "srs0-hhhh=tt=mail.example=dora@forwarder.example",
        "SRS1=HHHH=first.example==HHH=TT=mail.example=dora@second.example",
        "SRS1=HHHH=first.example=+HHH=TT=mail.example=dora@second.example",
        "bounces+SRS=aB1+c=XY=mail.example=dora@forwarder.example",
        "SRS0=HHHH=TT=mail.example=prvs=0129c1a5=dora@forwarder.example",
        "prvs=0129c1a5=SRS0=HHHH=TT=mail.example=dora@forwarder.example",
        "dora+pbem=play.example@mail.example",
    ],
)
def test_the_tags_of_mail_servers_are_taken_off(tagged: str) -> None:
    assert without_tags(tagged) == DORA


@pytest.mark.parametrize(
    "plain",
    [
        "",
        "<>",
        "dora",
        "dora+games@mail.example",
        "a=b@mail.example",
        "prvs=dora@mail.example",
        "prvs==dora@mail.example",
        "prvs=0129c1a5=@mail.example",
        "btv1=x=dora@mail.example",
        "SRS0=HHHH=TT=mail.example@forwarder.example",
        "SRS0=HHHH=TT=mail example=dora@forwarder.example",
        '"prvs=x=dora"@mail.example',
        "user+caf_=pbem=play.example@mail.example",
        "=" * 1000 + "@mail.example",
    ],
)
def test_other_return_paths_stay_as_they_are(plain: str) -> None:
    assert without_tags(plain) == plain
