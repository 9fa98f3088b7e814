"""Letters out: fixed bytes, text that survives, and headers that nobody can break out of."""

from __future__ import annotations

import email
import email.policy
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from pbem.letters.render import Templates
from pbem.mail.compose import Composer, Content

if TYPE_CHECKING:
    from email.message import EmailMessage
    from pathlib import Path

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
TEMPLATES = Templates()


def composer() -> Composer:
    return Composer("play.example", "pbem", TEMPLATES)


def compose(subject: str = "turn 5", text: str = "Hello.\n", **more: Any) -> bytes:
    more.setdefault("message_id", "<1@play.example>")
    content = Content(text, **{name: more.pop(name) for name in Content._fields if name in more})
    return composer().compose("anna@example.org", subject, content, date=NOW, **more)


def parsed(raw: bytes) -> EmailMessage:
    return email.message_from_bytes(raw, policy=email.policy.default)


def text_of(raw: bytes) -> str:
    body = parsed(raw).get_body(("plain",))
    assert body is not None
    content: str = body.get_content()
    return content.replace("\r\n", "\n")


def test_the_same_arguments_give_the_same_bytes_in_another_process() -> None:
    script = (
        "import sys; from datetime import datetime, UTC; from pbem.mail.compose import Composer, Content;"
        "from pbem.letters.render import Templates;"
        "c = Composer('play.example', 'pbem', Templates());"
        "content = Content('Hi.', attachments=[('a.json', 'application/json', b'{}')]);"
        "sys.stdout.buffer.write(c.compose('anna@example.org', 'turn 5', content,"
        "message_id='<1@play.example>', date=datetime(2026, 11, 21, 12, tzinfo=UTC)))"
    )
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout for _ in range(2)]
    assert runs[0] == runs[1] == compose(text="Hi.", attachments=[("a.json", "application/json", b"{}")])


def test_a_plain_letter_reads_as_it_should() -> None:
    assert compose().decode() == (
        "From: pbem <pbem@play.example>\r\n"
        "To: anna@example.org\r\n"
        "Subject: turn 5\r\n"
        "Date: Sat, 21 Nov 2026 12:00:00 +0000\r\n"
        "Message-ID: <1@play.example>\r\n"
        "Auto-Submitted: auto-generated\r\n"
        "X-Auto-Response-Suppress: All\r\n"
        "X-Loop: pbem@play.example\r\n"
        "MIME-Version: 1.0\r\n"
        'Content-Type: text/plain; charset="us-ascii"\r\n'
        "Content-Transfer-Encoding: 7bit\r\n"
        "\r\n"
        "Hello.\r\n"
    )
    assert compose(text="Hello.") == compose(text="Hello.\r\n") == compose(text="Hello.\r") == compose()


def test_an_answer_stands_in_its_thread() -> None:
    letter = parsed(
        compose(
            reply_to=composer().sub_address("m17.k3y"),
            in_reply_to="<q@a.example>",
            references=["<root@play.example>", "<q@a.example>"],
        )
    )
    assert letter["Reply-To"] == "pbem+m17.k3y@play.example"
    assert letter["In-Reply-To"] == "<q@a.example>"
    assert letter["References"].split() == ["<root@play.example>", "<q@a.example>"]
    assert letter["Auto-Submitted"] == "auto-replied"
    thread = [f"<{number}@play.example>" for number in range(22)]
    assert parsed(compose(references=thread[:20]))["References"].split() == thread[:20]
    assert parsed(compose(references=thread))["References"].split() == [thread[0], *thread[3:]]


def test_strangers_identifiers_are_left_out_when_malformed() -> None:
    letter = parsed(compose(in_reply_to="<a\r\nBcc: x@y>", references=["<b c>", "d", "<ok@x>"]))
    assert letter["In-Reply-To"] is None
    assert letter["References"] == "<ok@x>"
    assert letter["Auto-Submitted"] == "auto-generated"


def test_attachments_and_html_arrive_exactly() -> None:
    content = bytes(range(256)) * 10
    raw = compose(
        html="<b>Gruß</b>",
        attachments=[
            ("karte.png", "image/png", content),
            ("größe.json", "application/json", b"{}"),
            ("a/gruß.txt", "text/plain", "Gruß".encode()),
            (" ", "text/plain", b""),
            ("x" * 101, "text/plain", b""),
        ],
    )
    letter = parsed(raw)
    files = {part.get_filename(): part.get_payload(decode=True) for part in letter.iter_attachments()}
    assert files == {
        "karte.png": content,
        "größe.json": b"{}",
        "a_gruß.txt": "Gruß".encode(),
        "attachment": b"",
        "x" * 100: b"",
    }
    assert [part.get_param("charset") for part in letter.iter_attachments()] == [None, None, *["utf-8"] * 3]
    html = letter.get_body(("html",))
    assert html is not None
    assert html.get_content() == "<b>Gruß</b>\r\n"
    assert text_of(raw) == "Hello.\n"


def test_pictures_belong_to_the_page_that_shows_them() -> None:
    """RFC 2387: the page is first, and names each by its Content-ID."""
    png = b"\x89PNG\r\n\x1a\n" + bytes(200)
    raw = compose(html='<img src="cid:1.a@play.example">', pictures=[("1.a@play.example", "board.png", png)])
    plain, related = parsed(raw).iter_parts()
    assert [part.get_content_type() for part in (plain, related)] == ["text/plain", "multipart/related"]
    page, picture = related.iter_parts()
    assert (page.get_content_type(), picture.get_content_type()) == ("text/html", "image/png")
    assert (picture["Content-ID"], picture.get_filename()) == ("<1.a@play.example>", "board.png")
    assert (picture.get_content_disposition(), picture.get_payload(decode=True)) == ("inline", png)
    with pytest.raises(ValueError, match="no Message-ID"):
        compose(html="", pictures=[("1.a\r\nBcc: x@y", "board.png", png)])


def test_a_text_that_contains_the_boundary_gets_another_one() -> None:
    attachments = [("a", "text/plain", b"")]
    boundary = parsed(compose(attachments=attachments)).get_boundary()
    raw = compose(text=f"--{boundary}--\nrest\n", attachments=attachments)
    assert text_of(raw) == f"--{boundary}--\nrest\n"


@pytest.mark.parametrize(
    "text",
    [
        ".\n",
        "\n.\nMAIL FROM:<x@y>\n",
        "From me\n",
        "-- \nsig\n",
        "x" * 5000 + "\n",
        "tab\t\n",
        "trail \n",
        "é" * 900 + "\n",
    ],
)
def test_awkward_texts_survive(text: str) -> None:
    assert text_of(compose(text=text)) == text


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")))
def test_any_text_survives_in_seven_bits(text: str) -> None:
    raw = compose(text=text)
    assert raw.isascii()
    assert b"\x00" not in raw
    assert b"\n" not in raw.replace(b"\r\n", b"")
    assert b"\r" not in raw.replace(b"\r\n", b"")
    assert max(map(len, raw.split(b"\r\n"))) <= 998
    assert text_of(raw) == text + ("" if text.endswith("\n") or not text else "\n")


@given(st.text(st.characters(exclude_categories=())))
@example("\udcff")
def test_no_subject_breaks_out_of_its_header(subject: str) -> None:
    raw = compose(subject=subject + "\r\nBcc: x@evil.example\r\n\r\nbody")
    letter = parsed(raw)
    assert letter.keys() == parsed(compose()).keys()
    assert text_of(raw) == "Hello.\n"
    assert max(map(len, raw.split(b"\r\n"))) <= 998
    assert raw.isascii()


@pytest.mark.parametrize("word", ["turn ", "gr\u00f6\u00dfe ", "=?utf-8?q?x?= "])
def test_a_long_subject_is_folded(word: str) -> None:
    """RFC 2047 2: no line of encoded words is longer than 76."""
    raw = compose(subject=word * 25)
    head, _, _ = raw.partition(b"\r\n\r\n")
    assert max(map(len, head.split(b"\r\n"))) <= 76
    assert parsed(raw)["Subject"] == (word * 25).strip()
    assert parsed(compose(subject=word))["Subject"] == word.strip()


@given(st.text(st.characters(exclude_categories=())))
@example("\udcff")
def test_no_file_name_breaks_out_of_its_header(name: str) -> None:
    raw = compose(attachments=[(name + "\r\nX-Evil: 1\r\n\r\n", "text/plain", b"x")])
    (part,) = parsed(raw).iter_attachments()
    assert part.keys() == ["Content-Type", "Content-Transfer-Encoding", "Content-Disposition"]
    assert part.get_payload(decode=True) == b"x"
    assert raw.isascii()


@given(st.text(), st.sampled_from(["\r", "\n", "\0", "\r\n", " ", "<", ">", "é"]), st.text())
def test_no_address_or_message_id_with_foreign_characters(before: str, foreign: str, after: str) -> None:
    hostile = f"a{before}{foreign}{after}@b.example"
    with pytest.raises(ValueError, match="no address"):
        composer().compose(hostile, "s", Content("t"), message_id="<1@x>", date=NOW)
    with pytest.raises(ValueError, match="no address"):
        compose(reply_to=hostile)
    with pytest.raises(ValueError, match="no Message-ID"):
        compose(message_id=f"<{hostile}>")


@pytest.mark.parametrize("kind", ["text", "text/plain\r\nX: y", "Text/Plain", ""])
def test_no_strange_media_types(kind: str) -> None:
    with pytest.raises(ValueError, match="media type"):
        compose(attachments=[("a", kind, b"")])


def test_templates_know_their_values_and_escape_html_only(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("{% if x %}\n{{ x }}\n{% endif %}\n")
    (tmp_path / "a.html").write_text("{{ x }}\n")
    templates = Templates(tmp_path)
    assert templates.render("a.txt", x="<&>") == "<&>\n"
    assert templates.render("a.html", x="<&>") == "&lt;&amp;&gt;\n"
    with pytest.raises(UndefinedError):
        templates.render("a.txt")
