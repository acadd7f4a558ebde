"""Objects of the benches: a store with nodes and running pods, and bodies of pods to place."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from stretto.api.types.heads import decode_pod_head
from stretto.api.wire.kinds import NODE, POD, POD_GROUP
from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.inputs.objects.objects import node_body
from stretto.inputs.objects.pod_templates import PodTemplates, TemplateSpec
from stretto.inputs.scenario.workloads import synthetic_nodes
from stretto.sim.options import MEMORY, open_store
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.store import Deletion, Record, WriteOutcome
from stretto_lab.bench.engine.options import EngineBenchOptions

SUBMIT: Final = 1024
"""Pods created in one call, like a client that batches."""
HISTORY: Final = 8192
"""Events that the store retains for watches; each contains a body of 2.8 kB."""
UNSCHEDULABLE: Final = (
    b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"waits-%07d","namespace":"default"},'
    b'"spec":{"schedulerName":"stretto","containers":[{"name":"main","image":"main",'
    b'"resources":{"requests":{"cpu":"1000000"}}}]}}'
)
"""Format of a pod that fits on no node, with its number."""


class BenchObjects:
    """A store with nodes and running pods, and a source of pods."""

    def __init__(
        self, options: EngineBenchOptions, clock: Clock, rng: Rng, labels: Mapping[str, str]
    ) -> None:
        """Create the nodes with ``labels``, and the running pods."""
        self._options = options
        spec = TemplateSpec(
            classes=options.classes,
            constrained=options.constrained,
            units=options.units,
            gangs=options.units > 1,
            zones=options.zones,
        )
        #: Source of pod bodies.
        self.templates = PodTemplates(spec, rng.child("pods"))
        self._submitted = 0
        #: The store.
        self.store = _open(options.store, clock, rng.child("store"))
        #: The nodes.
        self.nodes = synthetic_nodes(options.nodes, rng.child("fleet"), zones=options.zones)
        made = [msgspec.structs.replace(n, labels={**n.labels, **labels}) for n in self.nodes]
        self.store.create(NODE, [node_body(node) for node in made])
        if options.running:
            self._load_running()

    def submit(self, bodies: Sequence[bytes]) -> None:
        """Create pods, each PodGroup before its first pod.

        Raises:
            RuntimeError: the store rejects a pod.
        """
        groups = self._groups_of(len(bodies))
        if groups:
            self.store.create(POD_GROUP, groups)
        replies = self.store.create(POD, bodies)
        rejected = next((r for r in replies if r.outcome is not WriteOutcome.OK), None)
        if rejected is not None:
            raise RuntimeError(f"the store rejected a bench pod: {rejected.message}")

    def submit_unschedulable(self, numbers: range) -> None:
        """Create pods that request more CPU than any node has."""
        self.store.create(POD, [UNSCHEDULABLE % number for number in numbers])

    def delete(self, numbers: Sequence[int]) -> None:
        """Delete pods by number, in one call."""
        self.store.delete(POD, [Deletion("default", f"pod-{i:07d}") for i in numbers])

    def delete_groups(self, numbers: range) -> None:
        """Delete the PodGroups of pods, by the numbers of the pods."""
        units = range(*(-(-number // self._options.units) for number in (numbers[0], numbers[-1])))
        self.store.delete(POD_GROUP, [Deletion("default", f"pod-unit-{i:06d}") for i in units])

    def _load_running(self) -> None:
        """Seed running pods as records that share the body of their class."""
        bodies, names = self.templates.class_bodies, [node.name for node in self.nodes]
        chosen = self.templates.running_classes(self._options.running).tolist()
        count = len(names)
        self.store.seed(
            Record(POD, "default", f"run-{i:07d}", f"u-{i:07d}", 1, bodies[c], names[i % count])
            for i, c in enumerate(chosen)
        )

    def _groups_of(self, pods: int) -> list[bytes]:
        """PodGroups whose first pod is among the next ``pods`` pods."""
        first, self._submitted = self._submitted, self._submitted + pods
        units, bodies = self._options.units, self.templates.group_bodies
        return bodies[-(-first // units) : -(-self._submitted // units)]


def number_of(body: bytes) -> int:
    """The number in the name of a bench pod."""
    return int(decode_pod_head(body).metadata.name[4:])


def _open(target: str, clock: Clock, rng: Rng) -> MemoryStore | SqliteStore:
    if target == MEMORY:
        return MemoryStore(clock, rng, HISTORY)
    return open_store(target, clock, rng)
