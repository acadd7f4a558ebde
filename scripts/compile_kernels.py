"""Compile every kernel for this machine, by a small scene for each: what runs later starts at once.

    python scripts/compile_kernels.py          # all of them: three minutes
    python scripts/compile_kernels.py --first  # those of a first run: a minute

A kernel is compiled when it is first called, and kept beside the sources; a first run, or a test
with a time limit, should not pay for that. Without numba there is nothing to do.
"""

import sys
from collections.abc import Callable
from typing import Any

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE
from stretto.framework.groups import calls
from stretto.framework.kernels.tiers import has_numba
from stretto.framework.preemption.finder import ALIKE
from stretto.testing import Harness, make_node, make_pod, make_report, numa_notes

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
POLICIES = ("fgd", "best-fit", "dot-prod", "gpu-packing", "gpu-clustering", "random", "packing")


def nodes(**more: Any) -> list[bytes]:
    """Four machines in two zones."""
    return [make_node(f"n{i}", zone=f"z{i % 2}", **more) for i in range(4)]


def plain() -> None:
    """Amounts, ports, gangs; two shards, so that claims are judged again."""
    site = Harness(nodes(), config={"shards": 2, "partition": False})
    site.group("gang", 3)
    site.submit(*(make_pod(f"g{i}", group="gang") for i in range(3)))
    site.submit(*(make_pod(f"p{i}", cpu="1", ports=[80]) for i in range(6)))
    site.settle()
    site.plane.shards[0].default.runtime.room(0)


def between() -> None:
    """Affinity, anti-affinity and spread, under profiles with and without rows."""
    match = {"matchLabels": {"app": "web"}}
    term = {"topologyKey": HOST, "labelSelector": match}
    near = {"weight": 5, "podAffinityTerm": {"topologyKey": ZONE, "labelSelector": match}}
    spread = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    spec = {
        "affinity": {
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
            "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [near]},
        },
        "topologySpreadConstraints": [{**spread, "labelSelector": match}],
    }
    for profile, shards in (("default", 1), ("default", 2), ("best-fit", 1)):
        config = {"shards": shards, "partition": False}
        site = Harness(nodes(), profile=profile, config=config)
        site.submit(*(make_pod(f"w{i}", labels={"app": "web"}, spec=spec) for i in range(5)))
        site.settle()


def preemption() -> None:
    """Victims of single pods and of a gang."""
    site = Harness(nodes(cpu="4"))
    site.submit(*(make_pod(f"low{i}", cpu="1", priority=0) for i in range(16)))
    site.settle()
    site.submit(*(make_pod(f"high{i}", cpu="1", priority=9) for i in range(ALIKE + 1)))
    site.settle()
    site.submit(make_pod("alone", cpu="2", priority=9))
    site.settle()
    site.group("urgent", 2)
    site.submit(*(make_pod(f"u{i}", cpu="2", priority=9, group="urgent") for i in range(2)))
    site.settle()


def zones() -> None:
    """NUMA nodes; their kernels wait for more work than there is here."""
    calls.COMPILE_FROM = 0
    site = Harness(nodes(cpu="32"))
    numas = [{"cpu": "8", "memory": "8Gi"}] * 4
    site.create(CUSTOM_NODE_RESOURCE, *(make_report(f"n{i}", numas) for i in range(4)))
    site.settle()
    site.submit(*(make_pod(f"n{i}", cpu="2", annotations=numa_notes()) for i in range(3)))
    site.settle()
    site.plane.shards[0].default.runtime.room(0)


def policies() -> None:
    """Scores that look at each slot for long, and each tie rule."""
    for policy in POLICIES:
        site = Harness(nodes(gpus=4, model="T4", cpu="32"), profile=policy)
        site.submit(make_pod("a", gpus=1, gpu_milli=500), make_pod("b", gpus=2), make_pod("c"))
        site.settle()
        site.plane.shards[0].default.runtime.room(0)


FIRST: tuple[Callable[[], None], ...] = (plain, between, policies)
SCENES: tuple[Callable[[], None], ...] = (*FIRST, preemption, zones)


def main() -> None:
    """Play the scenes."""
    if has_numba():
        for scene in FIRST if "--first" in sys.argv[1:] else SCENES:
            scene()


if __name__ == "__main__":
    main()
