"""Time of the next unit in a tree of 10,000 queues.

``python bench/queues.py [--json PATH]``

The tree has three levels (10 × 10 × 100); 100,000 pods of 20 sizes are pending in its leaves, and
every level is ordered by dominant share. A step dispatches a batch, as in a plane. The measured
time includes the order, the removal of the unit, the charge to its queue and the shares of the
parents. It is CPU time, so that other processes have no effect.
"""

import argparse
import json
import statistics
import sys
from time import process_time

import msgspec
import numpy as np

from stretto.api.types.heads import MetaHead
from stretto.control.dispatcher.dispatcher import Dispatcher
from stretto.control.queues.config import DispatcherConfig, QueueConfig
from stretto.state.queues.shape import SiblingPolicy
from stretto.state.rows.lifecycle import PodEvent, step_pods
from stretto.state.rows.pods import NewPod, Pods
from stretto.state.work.changes import ClusterChanges, PodArrival
from stretto.state.work.units import Units

QUEUES, UNITS, SIZES, BATCH = 10_000, 100_000, 20, 1_000
"""Numbers of queues, pending pods, pod sizes, and pods dispatched in one step."""


class Pool:
    """A pool of two resources: pods that request much of one request little of the other."""

    def requests_of(self, class_id: int) -> tuple[tuple[int, int], ...]:
        """Requests of a pod of a class."""
        return ((0, class_id + 1), (1, 2 * (SIZES - class_id)), (3, 1))

    def requesters(self) -> None:
        """Return no predicate: no class depends on placed pods."""

    def capacity(self) -> dict[int, int]:
        """Total capacity."""
        return {0: 2_000_000, 1: 4_000_000, 3: 1 << 30}

    def free(self) -> dict[int, int]:
        """Free capacity."""
        return self.capacity()

    def column(self, name: str) -> int:
        """The column of a resource."""
        return {"cpu": 0, "memory": 1, "pods": 3}[name]

    def count(self, name: str, amount: int) -> tuple[int, int]:
        """Column and amount of a resource, in the unit of the column."""
        return self.column(name), amount

    def names(self, column: int, amount: int) -> tuple[str, int]:
        """The inverse of ``count``."""
        return {0: "cpu", 1: "memory", 3: "pods"}[column], amount


def tree_of(limits: bool) -> list[QueueConfig]:
    """Ten queues of ten queues of a hundred queues each."""
    found = []
    for i in range(10):
        found.append(QueueConfig(f"q{i}", "DRF", weight=1.0 + i % 3))
        for j in range(10):
            found.append(QueueConfig(f"q{i}-{j}", "DRF", parent=f"q{i}"))
            for k in range(QUEUES // 100):
                limit = {"cpu": 1_000_000} if limits else {}
                name = f"q{i}-{j}-{k}"
                found.append(QueueConfig(name, "FifoSkip", parent=f"q{i}-{j}", limit=limit))
    return found


def leaves() -> list[str]:
    """Names of the leaf queues."""
    return [f"q{i}-{j}-{k}" for i in range(10) for j in range(10) for k in range(QUEUES // 100)]


def next_unit(limits: bool) -> list[float]:
    """Microseconds per unit, one figure for each step."""
    pods, units = Pods(), Units()
    config = DispatcherConfig(queues=tuple(tree_of(limits)), between=SiblingPolicy.DRF)
    dispatcher = Dispatcher(pods, units, config, Pool())
    dispatcher.add_shard(0)
    names = leaves()
    notes = [json.dumps({"stretto.dev/queue": name}).encode() for name in names]
    made = [NewPod(f"u{i}", "ns", f"p{i}", i % SIZES, 0, 1, 0.0) for i in range(UNITS)]
    rows = pods.add(made).tolist()
    changes = ClusterChanges()
    for i, row in enumerate(rows):
        meta = MetaHead(
            name=f"p{i}", namespace="ns", uid=f"u{i}", annotations=msgspec.Raw(notes[i % QUEUES])
        )
        changes.arrivals.append(PodArrival(row, meta, False, f"u{i}"))
    dispatcher.absorb(changes, 0.0)
    figures = []
    for _ in range(40):
        began = process_time()
        work = dispatcher.sender.dispatch(0.0, [BATCH])[0]
        figures.append((process_time() - began) / len(work) * 1e6)
        sent = np.array([row for each in work for row in each.rows], np.int64)
        step_pods(pods.state, sent, PodEvent.ASSUME)
        dispatcher.answers.placed(sent, 0.0)
    return figures


def main(words: list[str]) -> None:
    """Measure and print, or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", default="", help="write the figures to a file")
    given = parser.parse_args(words)
    figures = {
        "next_unit_us": statistics.median(next_unit(limits=False)),
        "next_unit_with_limits_us": statistics.median(next_unit(limits=True)),
    }
    for name, figure in figures.items():
        print(f"{name:28} {figure:8.1f}")
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=2)


if __name__ == "__main__":
    main(sys.argv[1:])
