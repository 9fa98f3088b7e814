"""The figures for Prometheus: of what is in the store, and how old what waits there is."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pbem.server.metrics import Figures, gauges
from pbem.store.inbox import Envelope
from pbem.store.operator import survey

if TYPE_CHECKING:
    from in_a_box.referee import Referee


def test_the_figures_are_those_of_the_store(referee: Referee) -> None:
    referee.registered("ann")
    referee.inbox.put(Envelope("ann@mail.example", ("pbem@play.example",)), b"late", referee.now)
    figures = Figures(survey(referee.database), desk_deaths=2)
    told = {
        "".join([sample.name, *sample.labels.values()]): sample.value
        for family in gauges(figures, referee.now + timedelta(seconds=90))
        for sample in family.samples
    }
    for name, value in {
        "pbem_desk_deaths": 2,
        "pbem_generation": 1,
        "pbem_inbox_letterswaiting": 1,
        "pbem_inbox_lettersaside": 0,
        "pbem_inbox_oldest_seconds": 90,
        "pbem_outbox_letterswaiting": 0,
        "pbem_outbox_oldest_seconds": 0,
        "pbem_players": 1,
        "pbem_players_unreachable": 0,
    }.items():
        assert told[name] == value, name
