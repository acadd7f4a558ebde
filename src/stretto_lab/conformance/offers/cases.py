"""One line of a file is one scenario: agents, frameworks, steps, and results of the master."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.base.errors import InputError
from stretto_lab.conformance import lines
from stretto_lab.conformance.offers.outcomes import compare_outcomes
from stretto_lab.conformance.offers.replay import ScenarioReplay
from stretto_lab.conformance.offers.scenario import (
    RecordedAgent,
    RecordedConfig,
    RecordedFramework,
    RecordedResult,
)
from stretto_lab.conformance.report import Disagreement

FAMILIES: Final = (
    "batch_equal",
    "batch_mixed",
    "borrow",
    "churn",
    "constraints",
    "filters",
    "quota",
    "reserve",
    "sequence",
    "sequence_exact",
    "sequence_greedy",
    "single_agent",
    "textbook_q1",
    "textbook_q2",
    "textbook_q3",
    "textbook_q4",
    "textbook_q5",
)
"""Families of scenarios."""


class OfferCase(msgspec.Struct, frozen=True):
    """A scenario."""

    #: Name.
    id: str
    #: Version of the recorded master.
    mesos: str
    #: Family.
    family: str
    #: Flags of the master.
    config: RecordedConfig
    #: Agents.
    agents: list[RecordedAgent]
    #: Frameworks.
    frameworks: list[RecordedFramework]
    #: Steps: a verb with its arguments.
    steps: list[list[Any]]
    #: The observed results.
    result: RecordedResult
    #: File and line, for error messages.
    origin: str = ""

    @property
    def features(self) -> tuple[str, ...]:
        """The family; reports count agreement by it."""
        return (self.family,)


class _LineVersion(msgspec.Struct, frozen=True):
    """The member that only scenarios of a Mesos master have."""

    #: Version of the recorded master.
    mesos: str = ""


def is_offers(path: Path) -> bool:
    """True if the first case of ``path`` is a scenario of a Mesos master."""
    head = lines.first(path, _LineVersion)
    return head is not None and bool(head.mesos)


def read(path: Path) -> Iterator[OfferCase]:
    """Read the scenarios of a file, plain or gzip.

    Raises:
        InputError: the file cannot be read, or a line is not a scenario; the message contains the
            line.
        UnknownNameError: no such family.
    """
    for where, case in lines.of_families(path, OfferCase, FAMILIES):
        yield msgspec.structs.replace(case, origin=where)


def compare(case: OfferCase) -> list[Disagreement]:
    """Replay one scenario; return the events and outcomes that differ.

    Raises:
        InputError: a step is malformed.
    """
    replay = ScenarioReplay(case.config, case.agents, case.frameworks, case.result.log)
    try:
        for number, step in enumerate(case.steps):
            replay.step(number, step)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        where = f"{case.origin or case.id}: steps"
        raise InputError(where, None, "steps with their arguments", f"{error!r}") from error
    found = [
        Disagreement(case.id, f"log[{number}].{name}", want, got)
        for number, name, want, got in replay.differences()
    ]
    found += [
        Disagreement(case.id, name, want, got)
        for name, want, got in compare_outcomes(case.result, replay)
    ]
    return found
