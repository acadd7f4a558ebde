"""Processor time of hostile requests to the API server, without sockets.

    python bench/hostile.py [--only START ...] [--rounds N] [--record]

A server with an administrator receives requests of the largest bodies, patches, selectors and
definitions that it decodes. The processor time of each request is the lowest of some rounds. While
one request is answered, others wait, so the goal is at most 100 ms for each. ``--record`` adds the
figures to ``bench/results/hostile-COMMIT.json``.
"""

import argparse
import gc
import json
import time
from pathlib import Path
from typing import Any

from hostile_growth import changes, lists, pairs, schemas
from hostile_kinds import customs, definitions
from hostile_requests import Case, bodies, patches, selections, wire_forms
from record import commit, machine, store

from stretto.base.clock import ManualClock
from stretto.base.collector import set_thresholds, settle
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings

CASES = (
    *bodies(),
    *wire_forms(),
    *patches(),
    *selections(),
    *definitions(),
    *customs(),
    *pairs(),
    *lists(),
    *schemas(),
    *changes(),
)
GOAL_MS = 100.0
"""Goal for each request."""


def sent(server: ApiServer, request: ApiRequest) -> tuple[int, float]:
    """Status and milliseconds of processor time of a request."""
    start = time.process_time()
    answer = server.handle(request)
    if not isinstance(answer, ApiResponse):
        for _ in iter(answer.poll, None):
            pass
    return answer.status, (time.process_time() - start) * 1e3


def measured(case: Case, rounds: int) -> dict[str, Any]:
    """Status, values and the lowest time of a case, each round on a new server."""
    times, status = [], 0
    for _ in range(rounds):
        clock = ManualClock(1_790_000_000.0)
        server = ApiServer(MemoryStore(clock, Rng(0)), ApiSettings(clock, Rng(1)))
        for request in case.before:
            assert (found := server.handle(request)).status < 300, found
        request = case.request
        gc.collect()
        status, spent = sent(server, request)
        times.append(spent)
    return {"status": status, "bytes": len(case.request.body), "cpu_ms": round(min(times), 1)}


def recorded() -> dict[str, Any]:
    """The figures of this commit so far: a long run may have several parts."""
    path = Path(__file__).parent / "results" / f"hostile-{commit()}.json"
    return dict(json.loads(path.read_text())["requests"]) if path.exists() else {}


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[""], help="only cases that begin so")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    host, found = machine(), recorded() if options.record else {}
    set_thresholds()
    settle()
    for case in CASES:
        if case.name.startswith(tuple(options.only)):
            found[case.name] = result = measured(case, options.rounds)
            mark = "" if result["cpu_ms"] <= GOAL_MS else "  > goal"
            print(f"{case.name:52} {result['status']} {result['cpu_ms']:8.1f} ms{mark}", flush=True)
    slowest = max(each["cpu_ms"] for each in found.values())
    record = {"commit": commit(), "machine": host, "goal_ms": GOAL_MS, "slowest_ms": slowest}
    if options.record:
        store("hostile", {**record, "requests": found})
    else:
        print(json.dumps(record))


if __name__ == "__main__":
    main()
