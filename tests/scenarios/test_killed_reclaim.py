"""A process that is killed between the evictions of a gang's reclaim: the next one goes on."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from stretto.api.wire.kinds import POD
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.store import Patch
from stretto.testing import Harness

pytestmark = pytest.mark.timeout(240)

#: Pods of one CPU that a gang of four times two CPUs evicts.
NEEDED = 8


@contextmanager
def killed(path: Path, rule: str, evictions: int) -> Iterator[Harness]:
    """A new plane over the file of a process that was killed after some evictions."""
    line = [sys.executable, "-m", "tests.support.killed_process", str(path), rule, str(evictions)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with closing(SqliteStore(path, ManualClock(), Rng(1))) as store:
        yield Harness(store=store, config={"tier": "numpy"})


def terminating(harness: Harness) -> set[str]:
    return {each.name for each in harness.store.list(POD).records if each.deleting}


def finished(harness: Harness, names: set[str]) -> None:
    """End pods that terminate."""
    gone = [Patch("default", name, {"metadata": {"finalizers": None}}) for name in names]
    harness.store.patch(POD, gone)


@pytest.mark.parametrize("rule", ["no rule", "required rack", "host anti-affinity"])
@pytest.mark.parametrize("evictions", [1, 4, 7])
def test_the_victims_of_a_killed_process_count_and_the_gang_starts(
    tmp_path: Path, rule: str, evictions: int
) -> None:
    with killed(tmp_path / "s.db", rule, evictions) as harness:
        before = terminating(harness)
        harness.settle(20)
        victims = terminating(harness)
        finished(harness, victims)
        harness.settle(30)
        assert (len(before), before <= victims, len(victims)) == (evictions, True, NEEDED)
        assert terminating(harness) == set()
        assert sum(bool(node) for name, node in harness.placements().items() if name[0] == "g") == 4


def test_the_victims_of_a_complete_reclaim_are_not_evicted_again(tmp_path: Path) -> None:
    with killed(tmp_path / "s.db", "no rule", NEEDED) as harness:
        harness.settle(60)
        assert len(terminating(harness)) == NEEDED
