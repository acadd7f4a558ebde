"""The conformance runner of recorded wire traffic: one case for each recorded outcome.

A differing outcome is not a disagreement if a named rule gives the reason.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from stretto.base.errors import InputError
from stretto_lab.conformance import lines
from stretto_lab.conformance.report import Disagreement
from stretto_lab.conformance.wire import scenario
from stretto_lab.conformance.wire.placeholders import equal, with_names, without_hashes
from stretto_lab.conformance.wire.replay import WireReplay
from stretto_lab.conformance.wire.rules.deviations import rule_of
from stretto_lab.conformance.wire.rules.differences import PARTS, Difference, objects_of, source_of
from stretto_lab.conformance.wire.rules.facts import NO_FACTS, FactCollector, ReplayFacts
from stretto_lab.conformance.wire.scope import scope_of

Fields = dict[str, Any]


class OutcomeCase(msgspec.Struct, frozen=True):
    """One recorded outcome, with the writes of the replay up to its time."""

    #: Name of the scenario and number of the outcome.
    id: str
    #: Family of the scenario.
    family: str
    #: The recorded parts.
    want: Fields
    #: The parts of the replay.
    got: Fields
    #: Kinds by the name of their configuration, which is the suffix of federated objects' names.
    kinds: dict[str, str] = {}
    #: Facts of the replay.
    facts: ReplayFacts = NO_FACTS

    @property
    def features(self) -> tuple[str, ...]:
        """The family; reports count agreement by it."""
        return (self.family,)


class _LineType(msgspec.Struct, frozen=True):
    """The member that only lines of recorded wire traffic have."""

    #: Type of the line.
    type: str = ""


def is_wire(path: Path) -> bool:
    """True if the first line of ``path`` begins a recorded scenario."""
    head = lines.first(path, _LineType)
    return head is not None and head.type == "scenario"


def read(path: Path) -> Iterator[OutcomeCase]:
    """Replay a scenario; yield each of its outcomes.

    Raises:
        InputError: the file, or the common file of its scenarios, cannot be read.
    """
    recorded = scenario.read(path)
    common = common_of(path, recorded.recording)
    replay, facts = WireReplay(recorded, common), FactCollector(scope_of(recorded).own)
    for number, (want, got) in enumerate(replay.outcomes(), 1):
        fleet = replay.fleet.federation.fleet if replay.fleet.is_running else None
        known = facts.at(fleet, got["federated"])
        name = f"{recorded.id}-{number}"
        parts = {part: replay.filled(getattr(want, part)) for part in PARTS}
        yield case_of((name, recorded.family), parts, got, common, known)


def case_of(
    head: tuple[str, str], want: Fields, got: Fields, common: Fields, facts: ReplayFacts
) -> OutcomeCase:
    """Create a case.

    Args:
        head: its name, and the family of the scenario.
        want: the recorded parts.
        got: the parts of the replay.
        common: common data of the scenarios of the recording.
        facts: facts of the replay.
    """
    kinds = {each["name"]: each["kind"] for each in common["typeConfigs"]}
    return OutcomeCase(*head, want, with_names(want, got), kinds, facts)


def compare(case: OutcomeCase) -> tuple[list[Disagreement], set[str]]:
    """The differing objects, and the rules of intended differences."""
    found: list[Disagreement] = []
    rules: set[str] = set()
    explained: dict[str, str] = {}
    for part in PARTS:
        for cluster, name, want, got in objects_of(part, case):
            if equal(without_hashes(want), without_hashes(got)):
                continue
            item = Difference(part, name, want, got, case, explained, cluster)
            rule = rule_of(item)
            if rule is None:
                found.append(Disagreement(case.id, item.field, want, got))
                continue
            rules.add(rule)
            if part == "federated" and (source := source_of(name, case.kinds)):
                explained[source] = rule
    return found, rules


def common_of(path: Path, recording: int) -> Fields:
    """Common data of the scenarios of a recording, from a file next to them.

    The file of another recording is used if that of the recording is missing.

    Raises:
        InputError: there is no such file.
    """
    files = sorted(path.parent.glob("common-*.json"))
    found: list[Fields] = [msgspec.json.decode(each.read_bytes()) for each in files]
    if not found:
        expected = "a file common-*.json next to the scenario"
        raise InputError(str(path), None, expected, "keep the files of a recording in one folder")
    return next((each for each in found if each.get("pass") == recording), found[0])
