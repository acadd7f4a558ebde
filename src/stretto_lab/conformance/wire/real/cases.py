"""Cases of recorded scenarios that are replayed on real API servers."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec

from stretto.base.clock import Clock
from stretto.base.errors import InputError, StrettoError
from stretto_lab.conformance.wire import scenario
from stretto_lab.conformance.wire.cases import (
    Fields,
    OutcomeCase,
    case_of,
    common_of,
    compare,
    is_wire,
)
from stretto_lab.conformance.wire.real.capacity import occupied
from stretto_lab.conformance.wire.real.replay import RealReplay
from stretto_lab.conformance.wire.real.servers import CALM, RealServers, real_servers
from stretto_lab.conformance.wire.rules.differences import PARTS
from stretto_lab.conformance.wire.rules.facts import NO_FACTS, FactCollector
from stretto_lab.conformance.wire.scenario import RecordedOutcome, WireScenario
from stretto_lab.conformance.wire.scope import scope_of

ALONE: Final = ("bootstrap", "cluster", "restart", "automigration")
"""Families that were recorded alone; each of their scenarios uses the servers exclusively."""
AT_ONCE: Final = 6
"""Number of scenarios that run in parallel on the same servers, as in the recording."""
_REFUSED: Final = "the scenario ends: {}"


def read_all(paths: Iterable[Path], clock: Clock) -> Iterator[OutcomeCase]:
    """Replay scenarios of one recording on the same servers, several in parallel.

    Scenarios that were recorded alone run alone, after the others, and start with the recorded
    capacity in use. Scenarios that change servers run last, each on its own servers.

    Raises:
        InputError: a file is not a scenario.
    """
    together, alone, apart = list[Path](), list[Path](), list[Path]()
    for path in paths:
        if not is_wire(path):
            raise InputError("--cases", str(path), "recorded wire traffic with --real")
        recorded = scenario.read(path)
        group = alone if recorded.family in ALONE else together
        (apart if recorded.changes_servers else group).append(path)
    if listed := [*together, *alone]:
        first = scenario.read(listed[0])
        with real_servers(common_of(listed[0], first.recording), clock) as servers:
            servers.start()
            servers.join(first.clusters)
            yield from read(together, servers)
            for path in alone:
                yield from read([path], servers)
    for path in apart:
        yield from read_apart(path, clock)


def read_apart(path: Path, clock: Clock) -> Iterator[OutcomeCase]:
    """Replay a scenario on its own servers, which may stop, join and leave.

    Raises:
        InputError: the file, or the common file of its scenarios, cannot be read.
    """
    recorded = scenario.read(path)
    with real_servers(common_of(path, recorded.recording), clock) as servers:
        if not recorded.begins_without_controllers:
            servers.start()
            servers.join(recorded.clusters)
            servers.run_until(lambda: False, CALM)
        yield from read([path], servers)


def read(paths: Sequence[Path], servers: RealServers) -> Iterator[OutcomeCase]:
    """Replay scenarios on running servers; yield each of their outcomes.

    Raises:
        InputError: a file, or the common file of its scenarios, cannot be read.
    """
    waiting, running = list(reversed(paths)), list[Generator[OutcomeCase | None]]()
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                running.append(_replayed(waiting.pop(), servers))
            servers.step()
            for each in list(running):
                try:
                    case = next(each)
                except StopIteration:
                    running.remove(each)
                    continue
                if case is not None:
                    yield case
    finally:
        for each in running:  # an interrupted scenario deletes its pods while the servers run
            each.close()


def _replayed(path: Path, servers: RealServers) -> Generator[OutcomeCase | None]:
    """The outcomes of one scenario; ``None`` while nothing is due."""
    recorded = scenario.read(path)
    common = common_of(path, recorded.recording)
    with ExitStack() as stack:
        try:
            if recorded.family in ALONE:
                stack.enter_context(occupied(servers, recorded.clusters, recorded.id))
        except StrettoError as error:
            yield _ended(recorded, 1, common, str(error))
            return
        yield from _outcomes(recorded, common, servers)


def _outcomes(
    recorded: WireScenario, common: Fields, servers: RealServers
) -> Iterator[OutcomeCase | None]:
    """The outcomes of one scenario on servers with the recorded capacity in use."""
    replay = RealReplay(recorded, common, servers)
    facts = FactCollector(scope_of(recorded).own)

    def case(want: RecordedOutcome, got: Fields) -> OutcomeCase:
        known = facts.at(servers.fleet, got["federated"])
        parts = {part: replay.filled(getattr(want, part)) for part in PARTS}
        return case_of((recorded.id, recorded.family), parts, got, common, known)

    def differs(want: RecordedOutcome, got: Fields) -> tuple[bool, bool]:
        wrong, rules = compare(case(want, got))
        return bool(wrong or rules), bool(wrong)

    number = 0
    try:
        for found in replay.outcomes(differs):
            number += found is not None
            yield found and msgspec.structs.replace(case(*found), id=f"{recorded.id}-{number}")
    except StrettoError as error:
        yield _ended(recorded, number + 1, common, str(error))
    replay.close()


def _ended(recorded: WireScenario, number: int, common: Fields, problem: str) -> OutcomeCase:
    """The case of an outcome that the scenario does not reach, because of a problem."""
    want: Fields = {part: {} for part in PARTS}
    got: Fields = {**want, "source": {"problem": {"message": _REFUSED.format(problem)}}}
    return case_of((f"{recorded.id}-{number}", recorded.family), want, got, common, NO_FACTS)
