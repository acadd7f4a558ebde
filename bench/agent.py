"""Measure what a report of the node agent costs on a machine with many pods.

    python -m bench.agent [--pods N] [--rounds N] [--memory ESTIMATOR] [--json OUT]

The machine is a tree of files with 64 processors. Each round changes the counters of all pods, and
then measures one step in CPU time: it lists the pods of the node in an embedded store, reads the
tree, and writes the report. Half of the pods are reclaimed: with Katalyst's memory headrooms, the
agent reads their NUMA nodes, too. Memory is the peak of the whole process, the store included.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from stretto.agent.node import NodeAgent
from stretto.agent.report.writer import ReportWriter
from stretto.agent.topology.gpus import RecordedGpus
from stretto.api.wire.kinds import POD
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.framework.profile.capacity.reclaim import MemoryEstimator, MemoryRules, ReclaimRules
from stretto.stores.embedded.memory import MemoryStore
from stretto.testing import make_pod
from tests.support.machines import (
    MachineShape,
    NumaAmounts,
    PodAmounts,
    write_machine,
    write_memory,
    write_use,
)

SHAPE = MachineShape(2, 1, 16, 2, 16, 128)
"""Two sockets of 16 cores with two threads each."""
NODE = "n"
EVERY_S = 60.0
"""Seconds between two reports."""
NUMAS = {0: NumaAmounts(128, 90, 8), 1: NumaAmounts(128, 80, 8)}
RECLAIMED = {"katalyst.kubewharf.io/qos_level": "reclaimed_cores"}
USED_US = 100_000
"""Microseconds of CPU that a pod uses more from round to round, times the round."""


def created(store: MemoryStore, count: int) -> list[str]:
    """Create pods on the node; returns their uids."""
    bodies = [
        make_pod(f"p{i}", cpu="250m", node=NODE, annotations=RECLAIMED if i % 2 else {})
        for i in range(count)
    ]
    return [reply.record.uid for reply in store.create(POD, bodies) if reply.record is not None]


def measured(
    root: Path, pods: int, rounds: int, memory: MemoryEstimator
) -> tuple[list[float], int]:
    """Milliseconds of CPU of each step after the first, and the number of writes."""
    clock = ManualClock()
    store = MemoryStore(clock, Rng(0))
    rules = ReclaimRules(memory=MemoryRules(memory))
    agent, writer = NodeAgent(root, RecordedGpus(), clock, rules), ReportWriter(store, NODE)
    uids, found = created(store, pods), []
    write_machine(root, SHAPE)
    for number in range(rounds + 1):
        used = number * number * USED_US
        write_use(root, 1000 * number * number, dict.fromkeys(uids, (used, 1 << 28)))
        share = PodAmounts(0.2 + number / 1000, 0.05, 0.01, "0-1", {0: 0.1, 1: 0.1})
        write_memory(root, NUMAS, 80 + number, dict.fromkeys(uids, share))
        clock.advance(EVERY_S)
        before = time.process_time()
        agent.step(store, NODE, writer)
        found.append(1000 * (time.process_time() - before))
    return found[1:], writer.writes


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument(
        "--memory", type=MemoryEstimator, choices=list(MemoryEstimator), default="same"
    )
    parser.add_argument("--json", default="-")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as root:
        steps, writes = measured(Path(root), options.pods, options.rounds, options.memory)
    cpu = statistics.median(steps)
    commit = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=False
    )
    text = json.dumps(
        {
            "schema": "stretto.bench.agent/v1",
            "commit": commit.stdout.strip(),
            "machine": {"cores": os.cpu_count(), "load": load, "python": platform.python_version()},
            "pods": options.pods,
            "rounds": options.rounds,
            "memory": options.memory.value,
            "writes": writes,
            "cpu_ms_per_report": round(cpu, 1),
            "percent_of_a_core": round(cpu / 10 / EVERY_S, 3),
            "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        },
        indent=1,
    )
    if options.json == "-":
        print(text)
    else:
        Path(options.json).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
