"""kill -9 in the middle of anything: what was acknowledged is there, and nothing is bound twice."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from stretto.api.wire.kinds import POD
from stretto.base.rng import Rng
from tests.unit.stores.contents import sqlite

CHILD = Path(__file__).with_name("kill_child.py")


class Witness:
    """Acknowledged writes of all child processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.nodes: dict[str, str] = {}
        self.gone: set[str] = set()
        self.dropping: set[str] = set()
        self.version = 0
        self.acknowledged = 0

    def live_and_die(self, seed: int) -> None:
        """Let one child write, and kill it after a random number of lines and a random while."""
        rng = Rng(seed)
        command = [sys.executable, str(CHILD), str(self.path), str(seed)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            for _ in range(rng.randint(0, 400)):
                self.note(child.stdout.readline())
            time.sleep(rng.random() * 0.003)
            child.kill()
            rest = child.stdout.read()
        for line in rest.splitlines(keepends=True):
            self.note(line)

    def note(self, line: str) -> None:
        """Take down one acknowledged write; a line that was cut off was not one."""
        if not line.endswith("\n"):
            return
        verb, uid, *more = line.split()
        if verb == "drop":
            self.dropping.add(uid)
            return
        self.acknowledged += 1
        assert int(more[-1]) > self.version, "versions rise, over restarts too"
        self.version = int(more[-1])
        if verb == "gone":
            self.gone.add(uid)
        elif verb == "made":
            assert uid not in self.nodes, "no uid comes twice"
            self.nodes[uid] = ""
        else:
            assert self.nodes.get(uid, "") == "", "no pod is bound twice"
            self.nodes[uid] = more[0]

    def check(self) -> None:
        """Compare with what is on disk."""
        store = sqlite(self.path)
        there = {record.uid: record for record in store.list(POD).records}
        for uid in self.nodes.keys() - self.gone - self.dropping:
            assert there[uid].node == self.nodes[uid] or not self.nodes[uid]
        assert not self.gone & there.keys()
        assert store.version >= self.version
        # A bind or a deletion that took effect without an answer still counts.
        self.nodes |= {uid: record.node for uid, record in there.items()}
        self.gone |= self.nodes.keys() - there.keys()
        self.dropping.clear()
        store.close()


def killed_again_and_again(path: Path, cycles: int) -> Witness:
    witness = Witness(path)
    for seed in range(cycles):
        witness.live_and_die(seed)
        witness.check()
    return witness


def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    witness = killed_again_and_again(tmp_path / "store.sqlite", cycles=5)
    assert witness.acknowledged > 250


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_nothing_acknowledged_is_lost_by_a_hundred_kills(tmp_path: Path) -> None:
    witness = killed_again_and_again(tmp_path / "store.sqlite", cycles=100)
    assert witness.acknowledged > 10_000
