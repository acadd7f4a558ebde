"""Run Kubernetes' own end-to-end tests against ``stretto up`` and record the results.

    python bench/kubernetes_e2e.py [--focus REGEX] [--processes N] [--again]

The record is ``bench/results/kubernetes-e2e.json``. Without ``--again``, only tests run that have
not passed yet and are not known to fail. ``python scripts/suite_page.py`` writes the page.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from record import commit

from stretto.base.clock import WallClock
from stretto_lab.control_plane.parts import ServerProcess
from stretto_lab.control_plane.results import (
    RECORD,
    SuiteRecord,
    SuiteState,
    read_record,
    write_record,
)
from stretto_lab.control_plane.selection import (
    ALONE,
    FAILING,
    FOCUS,
    NOT_RUN,
    UNCACHED,
    reason_in,
)
from stretto_lab.control_plane.tools import build
from stretto_lab.control_plane.upstream import SUITE, listed_tests, run_tests

VERSION = "1.36.3"
PORTION = 40
"""Tests per server, so that a failure of a server costs few results."""


@contextmanager
def local_cluster(folder: Path) -> Iterator[Path]:
    """The kubeconfig of a new ``stretto up`` with three nodes."""
    kubeconfig, clock = folder / "kubeconfig", WallClock()
    words = ["up", "--nodes", "3", "--like", "8cpu-32gib", "--kubeconfig", str(kubeconfig)]
    command = [sys.executable, "-m", "stretto.cli.main", *words]
    part = ServerProcess("stretto up", command, folder / "up.log")
    part.start()
    try:
        while not kubeconfig.exists():
            clock.sleep(0.2)
        yield kubeconfig
    finally:
        part.stop()


def selected(record: SuiteRecord, names: Sequence[str], focus: str, *, again: bool) -> list[str]:
    """The tests to run."""
    known = set() if again else {*record.passed(), *(x for x in names if reason_in(FAILING, x))}
    return [
        each
        for each in names
        if re.search(focus, each) and not reason_in(NOT_RUN, each) and each not in known
    ]


def portions(names: Sequence[str], processes: int) -> Iterator[tuple[Sequence[str], int]]:
    """Tests that run on one server, with the number of processes."""
    uncached = [each for each in names if UNCACHED.search(each)]
    others = [each for each in names if not UNCACHED.search(each)]
    together = [each for each in others if not ALONE.search(each)]
    alone = [each for each in others if ALONE.search(each)]
    for part, count, most in (
        (together, processes, PORTION),
        (alone, 1, PORTION),
        (uncached, 1, 1),
    ):
        for start in range(0, len(part), most):
            yield part[start : start + most], count


def main() -> None:
    """Run the tests and update the record after each portion."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--focus", default="", help="regular expression of the names of tests")
    parser.add_argument("--processes", type=int, default=4, help="tests at the same time")
    parser.add_argument("--again", action="store_true", help="also run tests that have passed")
    options = parser.parse_args()
    build((SUITE, "kubectl"))
    record = read_record(RECORD) if RECORD.exists() else SuiteRecord(VERSION, [])
    with tempfile.TemporaryDirectory() as folder:
        listed = listed_tests(Path(folder), FOCUS)
    record = record.updated(listed, set(), "", "")
    names = selected(record, [each.title for each in listed], options.focus, again=options.again)
    for part, count in portions(names, options.processes):
        with tempfile.TemporaryDirectory() as folder, local_cluster(Path(folder)) as kubeconfig:
            found = run_tests(kubeconfig, Path(folder), part, count)
        today = datetime.now(UTC).date().isoformat()
        record = record.updated(found, set(part), today, commit())
        write_record(RECORD, record)
        failed = [each for each in record.tests if each.state is SuiteState.FAILED]
        print(f"{len(record.passed())} passed, {len(failed)} failed of {len(record.tests)}")


if __name__ == "__main__":
    main()
