"""Phrases: English sentences that can be said in other languages."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from gettext import NullTranslations

import pytest

from pbem.i18n import catalogue, say, template_folder
from pbem.phrase import Moment, Phrase, Span, either

SAID = {
    "no player is called {name}": "niemand heißt {name}",
    "{first} or {last}": "{first} oder {last}",
    "this match is {phase}": "diese Partie ist {phase}",
    "open": "offen",
}


class Known(NullTranslations):
    """A catalogue of a few phrases."""

    def gettext(self, message: str) -> str:
        return SAID.get(message, message)


KNOWN = Known()


def test_a_phrase_is_its_english_text() -> None:
    phrase = Phrase("no player is called {name}", name="zoe")
    assert phrase == "no player is called zoe"
    assert (phrase.template, phrase.facts) == ("no player is called {name}", {"name": "zoe"})


def test_facts_are_never_read_as_templates() -> None:
    phrase = Phrase("no player is called {name}", name="{name} {name.__class__} {0}")
    assert phrase == "no player is called {name} {name.__class__} {0}"
    assert say(phrase, KNOWN) == "niemand heißt {name} {name.__class__} {0}"


def test_a_catalogue_says_it_and_the_phrases_in_it() -> None:
    assert say(Phrase("this match is {phase}", phase=Phrase("open")), KNOWN) == "diese Partie ist offen"
    assert say(either([2, 3, 4]), KNOWN) == "2 oder 3 oder 4"
    assert either([2]) == "2"


def test_what_a_catalogue_lacks_is_said_in_english_and_what_is_no_phrase_as_it_is() -> None:
    assert say(Phrase("{name} joins", name=Phrase("open")), KNOWN) == "offen joins"
    assert say("open", KNOWN) == "open"
    assert say(None, KNOWN) is None


def test_it_goes_from_process_to_process_whole() -> None:
    phrase = Phrase("{first} or {last}", first=Phrase("open"), last=3)
    assert say(Phrase.read(phrase.document), KNOWN) == "offen oder 3"
    assert say(pickle.loads(pickle.dumps(phrase)), KNOWN) == "offen oder 3"
    with pytest.raises(ValueError, match="no phrase"):
        Phrase.read("open")


MOMENT = Moment(datetime(2026, 3, 8, 13, 5, tzinfo=UTC))


def test_times_and_lengths_of_time_are_said_as_a_language_has_them() -> None:
    german = catalogue((template_folder(),), "de")
    said = Phrase("{moment} {place}", moment=MOMENT, place="UTC")
    assert said == "Sunday 8 March 2026, 13:05 UTC"
    assert say(said, german) == "Sonntag, 8. März 2026, 13:05 Uhr UTC"
    for seconds, english, own in (
        (86400, "1 day", "1 Tag"),
        (2 * 86400 + 3600 + 59, "2 days and 1 hour", "2 Tage und 1 Stunde"),
        (121, "2 minutes and 1 second", "2 Minuten und 1 Sekunde"),
    ):
        assert (Span(seconds), say(Span(seconds), german)) == (english, own)
