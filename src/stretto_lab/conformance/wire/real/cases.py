"""Cases of recorded scenarios that are replayed on real API servers."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from stretto.base.clock import Clock
from stretto.base.errors import InputError
from stretto_lab.conformance.wire import scenario
from stretto_lab.conformance.wire.capacity import by_capacity
from stretto_lab.conformance.wire.cases import (
    PARTS,
    Fields,
    OutcomeCase,
    case_of,
    common_of,
    compare,
    is_wire,
)
from stretto_lab.conformance.wire.real.replay import RealReplay
from stretto_lab.conformance.wire.real.servers import RealServers, real_servers
from stretto_lab.conformance.wire.scenario import RecordedOutcome

ALONE: Final = ("bootstrap", "cluster", "restart", "automigration")
"""Families that were recorded alone: they stop servers, or let clusters join and leave."""


def read_all(paths: Iterable[Path], clock: Clock) -> Iterator[OutcomeCase]:
    """Replay scenarios of one recording one after the other on the same servers.

    Raises:
        InputError: a file is no scenario that can share servers with others.
        StrettoError: a server refuses a request that the recorded one accepted.
    """
    listed = list(paths)
    for path in listed:
        if not is_wire(path):
            raise InputError("--cases", str(path), "recorded wire traffic with --real")
        if (family := scenario.read(path).family) in ALONE:
            hint = "replay it on embedded servers, without --real"
            raise InputError("--cases", str(path), f"a family besides {family}", hint)
    first = scenario.read(listed[0])
    with real_servers(common_of(listed[0], first.recording), clock) as servers:
        servers.join(first.clusters)
        for path in listed:
            yield from read(path, servers)


def read(path: Path, servers: RealServers) -> Iterator[OutcomeCase]:
    """Replay a scenario on running servers; yields each of its outcomes.

    Raises:
        InputError: the file, or what its scenarios share, cannot be read.
        StrettoError: a server refuses a request that the recorded one accepted.
    """
    recorded = scenario.read(path)
    common = common_of(path, recorded.recording)
    replay = RealReplay(recorded, common, servers)
    free: set[str] = set()

    def case(want: RecordedOutcome, got: Fields) -> OutcomeCase:
        free.update(by_capacity(servers.federation.fleet))
        parts = {part: replay.filled(getattr(want, part)) for part in PARTS}
        return case_of((recorded.id, recorded.family), parts, got, common, frozenset(free))

    def agrees(want: RecordedOutcome, got: Fields) -> bool:
        return not compare(case(want, got))[0]

    for number, (want, got) in enumerate(replay.outcomes(agrees), 1):
        yield msgspec.structs.replace(case(want, got), id=f"{recorded.id}-{number}")
