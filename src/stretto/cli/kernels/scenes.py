"""Small clusters in virtual time, one for each group of kernels; playing a scene compiles them.

numba compiles a kernel when it is first called. The scenes call every kernel with the types of real
runs, so that later no decision waits for the compiler.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final
from unittest.mock import patch

import msgspec
import numpy as np

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE
from stretto.framework.contract.rule import BoolArray, FilterRule, Scope, SlotArray, View
from stretto.framework.groups import calls
from stretto.framework.kernels.cache import KernelSet
from stretto.framework.preemption.best_node import ALIKE
from stretto.framework.profile.guard import guard
from stretto.framework.profile.profile import load_profile
from stretto.state.classes.table import PodClass
from stretto.testing import Harness, make_node, make_pod, make_report, numa_notes

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
POLICIES = ("fgd", "best-fit", "dot-prod", "gpu-packing", "gpu-clustering", "random", "packing")


def nodes(**more: Any) -> list[bytes]:
    """Return four nodes in two zones."""
    return [make_node(f"n{i}", zone=f"z{i % 2}", **more) for i in range(4)]


def site_of(hosts: list[bytes], profile: str = "default", **config: Any) -> Harness:
    """Create a cluster of these nodes that uses the compiled kernels."""
    return Harness(hosts, profile=profile, config={"tier": "numba", **config})


def plain() -> None:
    """Play amounts, host ports and gangs; two shards, so that the binder checks claims again."""
    site = site_of(nodes(), shards=2, partition=False)
    site.group("gang", 3)
    site.submit(*(make_pod(f"g{i}", group="gang") for i in range(3)))
    site.submit(*(make_pod(f"p{i}", cpu="1", ports=[80]) for i in range(6)))
    site.settle()
    site.plane.shards[0].default.runtime.capacity(0)


def inter_pod() -> None:
    """Play affinity, anti-affinity and topology spread, with one shard and with two."""
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
        site = site_of(nodes(), profile=profile, shards=shards, partition=False)
        site.submit(*(make_pod(f"w{i}", labels={"app": "web"}, spec=spec) for i in range(5)))
        site.settle()


def preemption() -> None:
    """Play preemption by single pods and by a gang."""
    site = site_of(nodes(cpu="4"))
    site.submit(*(make_pod(f"low{i}", cpu="1", priority=0) for i in range(16)))
    site.settle()
    site.submit(*(make_pod(f"high{i}", cpu="1", priority=9) for i in range(ALIKE + 1)))
    site.settle()
    site.submit(make_pod("alone", cpu="2", priority=9))
    site.settle()
    site.group("urgent", 2)
    site.submit(*(make_pod(f"u{i}", cpu="2", priority=9, group="urgent") for i in range(2)))
    site.settle()


def numa() -> None:
    """Play NUMA nodes, whose kernels are used from the first pod on."""
    numas = [{"cpu": "8", "memory": "8Gi"}] * 4
    with patch.object(calls, "COMPILE_FROM", 0):
        site = site_of(nodes(cpu="32"))
        site.create(CUSTOM_NODE_RESOURCE, *(make_report(f"n{i}", numas) for i in range(4)))
        site.settle()
        site.submit(*(make_pod(f"n{i}", cpu="2", annotations=numa_notes()) for i in range(3)))
        site.settle()
        site.plane.shards[0].default.runtime.capacity(0)


def policies() -> None:
    """Play scores that are computed per slot, and all tie rules."""
    for policy in POLICIES:
        site = site_of(nodes(gpus=4, model="T4", cpu="32"), policy)
        site.submit(make_pod("a", gpus=1, gpu_milli=500), make_pod("b", gpus=2), make_pod("c"))
        site.settle()
        site.plane.shards[0].default.runtime.capacity(0)


class _Anywhere(FilterRule):
    """Allows every node; stands for a rule that is written in Python."""

    NAME: ClassVar[str] = "Anywhere"
    SCOPE: ClassVar[Scope] = Scope.SLOT

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """Return bool[k]: True for all slots."""
        return np.ones(len(slots), np.bool_)


class _AnywhereByDomain(_Anywhere):
    """The same rule, but it also reads other nodes."""

    NAME: ClassVar[str] = "AnywhereByDomain"
    SCOPE: ClassVar[Scope] = Scope.DOMAIN


def python_rules() -> None:
    """Play rules that the kernels call in Python: on slots and on domains."""
    for rule in (_Anywhere, _AnywhereByDomain):
        profile = load_profile("default")
        filters = (*profile.filters, guard(rule({})))
        profile = msgspec.structs.replace(profile, filters=filters)
        site = Harness(nodes(), profile=profile, config={"tier": "numba"})
        site.submit(*(make_pod(f"p{i}", cpu="1") for i in range(3)))
        site.settle()


Scene = Callable[[], None]
"""Function that calls a group of kernels."""

SCENES: Final[Mapping[KernelSet, Mapping[str, Scene]]] = {
    KernelSet.FIRST: {
        "rules between pods": inter_pod,
        "placement": plain,
        "policies": policies,
    },
    KernelSet.ALL: {"NUMA nodes": numa, "preemption": preemption, "Python rules": python_rules},
}
"""The scenes by set and name: those of a first run, and those of all kernels, longest first."""
