"""Letters in HTML alone: whose words are whose, as mail programs mark them, and what hostile HTML may cost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pbem.mail.html import own_words
from pbem.mail.message import read_letter

SAMPLES = Path(__file__).parent.parent / "data" / "html"
"""An answer as a mail program makes it, and what of that its writer wrote."""


@pytest.mark.parametrize("name", sorted(path.stem for path in SAMPLES.glob("*.html")))
def test_the_words_of_the_writer_and_no_others(name: str) -> None:
    found = own_words((SAMPLES / f"{name}.html").read_text("utf-8"))
    assert found.strip("\n") + "\n" == (SAMPLES / f"{name}.txt").read_text("utf-8")
    assert "resign" not in found


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("", ""),
        ("Gx3\nGy3", "Gx3 Gy3"),
        ("<?php?><!-- a --><p>Gx3<!-- b --><?x y?></p><![CDATA[c]]><p>Gx3</p>", "Gx3\nGx3"),
        ("<p>Gx3</p><hr><p>Gy3</p>", "Gx3\nGy3"),
        ("<p tabindex=1>Gx3</p><p>Gy3</p>", "Gx3\nGy3"),
        ("<p>Gx3</p><hr tabindex=-1><p>Gy3</p>", "Gx3\n>"),
        ("<p>Gx3</p><hr id=zwchr><p>Gy3</p>", "Gx3\n>"),
    ],
)
def test_little_is_words_too(page: str, words: str) -> None:
    assert own_words(page).strip("\n") == words


@pytest.mark.parametrize(
    ("text", "is_html"),
    [(None, True), ("", True), (" \n\n", True), ("x", False)],
    ids=["none", "empty", "blank", "some"],
)
def test_html_is_read_where_there_is_no_text(text: str | None, *, is_html: bool) -> None:
    plain = "" if text is None else f"--b\nContent-Type: text/plain\n\n{text}\n"
    letter = read_letter(
        f"From: a@x.example\nContent-Type: multipart/alternative; boundary=b\n\n{plain}--b\nContent-Type: text/html\n"
        "\n<p>y</p>\n--b--\n".encode()
    )
    assert (letter.html is not None) is is_html


HOSTILE = {
    "deep": "'<div>' * (n // 5)",
    "deep and never closed": "'<b><i>x' * (n // 7)",
    "formats that overlap": "''.join(f'<b a{i}>' for i in range(n // 16)) + '<p>' * (n // 6)",
    "ends of nothing": "'<div>' * (n // 11) + '</p>' * (n // 11)",
    "short ends of nothing": "'<b>' * (n // 14) + '</i>' * (n // 7)",
    "tables in tables": "'<table><tr><td>' * (n // 15)",
    "cells": "'<table>' + '<td>x' * (n // 5)",
    "attributes": "'<p ' + ' '.join(f'a{i}=1' for i in range(n // 9)) + '>'",
    "an attribute that does not end": "'<p a=\"' + 'x' * n",
    "classes": "('<p class=\"' + ' '.join(['gmail', 'moz'] * 200) + '\">') * (n // 2000)",
    "blanks in a style": "'<p style=\"border-top' + ' ' * n + '\">'",
    "entities": "'&amp;' * (n // 5)",
    "ampersands": "'&' * n",
    "entities of its own": "'<!DOCTYPE a [' + '<!ENTITY b \"&a;&a;&a;\">' * (n // 24) + ']>&b;'",
    "angles": "'<' * n",
    "comments": "'<!--' * (n // 4)",
    "scripts": "'<script><!--' * (n // 12)",
    "blanks": "'<p>' + ' ' * n",
    "line ends": "'<br>' * (n // 4)",
    "dashes": "'<p>' + '-' * n + '</p>'",
    "blocks that hold blanks": "'<p> ' * (n // 4)",
    "NUL": "'\\0' * n",
    "odd characters": "'\\ufffe\\ud83d\\ude00'.encode('utf-16', 'surrogatepass').decode('utf-16') * (n // 2)",
}
MEASURE = """
import json, os, resource, sys, time
from pbem.mail.html import own_words
own_words("<p>x</p>")
for name, page in json.loads(sys.argv[1]).items():
    if os.fork():
        os.wait()
        continue
    resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
    page = eval(page, {"n": 256 * 1024})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    own_words(page)
    seconds = time.process_time() - start
    print(json.dumps([name, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before]), flush=True)
    os._exit(0)
"""
"""Each page in a process of its own, with the limit of the reader: 5 s of processor time."""


def test_hostile_html_costs_little() -> None:
    """The reader's other limit is 512 MB."""
    command = [sys.executable, "-c", MEASURE, json.dumps(HOSTILE)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    costs = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for name, _, _ in costs] == [*HOSTILE]
    assert not [cost for cost in costs if cost[1] > 0.6 or cost[2] > 64 * 1024]
