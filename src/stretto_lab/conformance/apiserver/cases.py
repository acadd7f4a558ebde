"""The conformance runner of recorded sessions: one case for each exchange.

An exchange with differences agrees nevertheless if named rules explain all of them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from stretto_lab.conformance.apiserver import sessions
from stretto_lab.conformance.apiserver.commands import CommandReplay
from stretto_lab.conformance.apiserver.deviations import deviation_of
from stretto_lab.conformance.apiserver.matching import Difference
from stretto_lab.conformance.apiserver.replay import SessionReplay
from stretto_lab.conformance.apiserver.sessions import RecordedLine
from stretto_lab.conformance.report import CaseComparison, Disagreement

_FAMILY_KUBECTL: Final = "kubectl"


class ExchangeCase(msgspec.Struct, frozen=True):
    """One recorded exchange, and the differences of the replay."""

    #: The line.
    line: RecordedLine
    #: Differences.
    found: list[Difference]

    @property
    def features(self) -> tuple[str, ...]:
        """Family and session; reports count agreement by both."""
        return (self.line.family, self.line.session)


def read(path: Path) -> Iterator[ExchangeCase]:
    """Replay the sessions of a file; yield each exchange.

    Raises:
        InputError: the file cannot be read.
    """
    replay: SessionReplay | CommandReplay | None = None
    try:
        for line in sessions.read(path):
            if line.setup is not None:
                _close(replay)
                is_command = line.family == _FAMILY_KUBECTL
                replay = (CommandReplay if is_command else SessionReplay)(line.setup)
            elif replay is not None:
                found = list(replay.differences(line))
                if line.request is not None or line.events or line.stdout is not None:
                    yield ExchangeCase(line, [] if line.sometimes else found)
    finally:
        _close(replay)


def _close(replay: SessionReplay | CommandReplay | None) -> None:
    if isinstance(replay, CommandReplay):
        replay.close()


def compare(case: ExchangeCase) -> CaseComparison:
    """The differing fields, and the rules of intended differences."""
    disagreed, rules = [], set()
    for path, want, got in case.found:
        rule = deviation_of(case.line, path, want, got)
        if rule is None:
            disagreed.append(Disagreement(case.line.id, f"{case.line.name}: {path}", want, got))
        else:
            rules.add(rule)
    return CaseComparison(disagreed, rules)
