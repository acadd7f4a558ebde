"""A plane with the kube-parity profile, and the exact decision on the store."""

from typing import Any

import msgspec

from stretto.api import codec
from stretto.api.types.core import Node
from stretto.api.types.pod import Pod
from stretto.api.wire.kinds import NODE, POD, Kind
from stretto.api.wire.meta import Wire
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.parity.decision import Decision
from stretto.framework.parity.runtime import ParityRuntime
from stretto.framework.parity.scheduler import ExactScheduler
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import Step
from stretto.state.ingest.whole_objects import CURES, read_object
from stretto.stores.capabilities import Capabilities
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Patch, Record, Store
from stretto.testing import Harness

PARITY = "kube-parity"
NO_PREEMPTION = {"rules": "exact", "tieRule": "name", "preemption": False}


class Parity(Harness):
    """A plane with kube-parity that records its messages."""

    def __init__(self, *nodes: bytes, preempts: bool = True, **more: Any) -> None:
        """Start with nodes."""
        calm = {"profiles": [{"stretto": NO_PREEMPTION}]}
        super().__init__(nodes, profile=load_profile(PARITY if preempts else calm), **more)
        #: The last message of each pod, by name.
        self.said: dict[str, str] = {}
        #: Number of failed attempts of each pod.
        self.tries: dict[str, int] = {}
        self.plane.observers.append(self._note)

    @property
    def runtime(self) -> ParityRuntime:
        """The first shard's runtime, up to date."""
        found = self.plane.shards[0].default.runtime
        assert isinstance(found, ParityRuntime)
        found.sync()
        return found

    def define(self, item: Wire) -> None:
        """Create an object of any kind, as it is."""
        self.put(codec.kind_of_struct(item), codec.encode(item))

    def submit_pod(self, pod: Pod) -> None:
        """Create a pod for this scheduler."""
        self.define(ours(pod))

    def patch(self, kind: Kind, name: str, namespace: str = "default", **change: Any) -> None:
        """Change an object."""
        space = namespace if kind.namespaced else ""
        self.store.patch(kind, [Patch(space, name, change)])

    def pending(self) -> list[Pod]:
        """Pods without a node."""
        return [pod_of(record) for record in self.store.list(POD).records if not record.node]

    def library(self) -> ExactScheduler:
        """The exact path on a snapshot of the store."""
        return library_of(self.store)

    def live(self, pod: Pod) -> Decision:
        """Decision on the snapshot of the plane."""
        return self.runtime.follower.scheduler.decide(pod, thorough=True)

    def _note(self, step: Step) -> None:
        names = self.plane.cluster.pods.name
        for setback in (each for plan in step.plans for each in plan.setbacks):
            for row, message in zip(setback.rows, setback.messages, strict=False):
                self.said[names[row]] = message
                self.tries[names[row]] = self.tries.get(names[row], 0) + 1


ENDED = ("Succeeded", "Failed")


def library_of(store: Store) -> ExactScheduler:
    """The exact path on a snapshot of a store."""
    nodes = [read_object(NODE, record) for record in store.list(NODE).records]
    pods = [pod_of(record) for record in store.list(POD).records]
    running = [pod for pod in pods if pod.spec.node_name and pod.status.phase not in ENDED]
    fleet = [each for each in nodes if isinstance(each, Node)]
    objects = [read_object(kind, record) for kind in CURES for record in store.list(kind).records]
    return ExactScheduler(ParitySnapshot(fleet, running, objects))


def ours(pod: Pod) -> Pod:
    """The pod with this scheduler name."""
    spec = msgspec.structs.replace(pod.spec, scheduler_name="stretto")
    return msgspec.structs.replace(pod, spec=spec)


def pod_of(record: Record) -> Pod:
    """Decode the pod of a record, with its node."""
    pod = read_object(POD, record)
    assert isinstance(pod, Pod)
    spec = msgspec.structs.replace(pod.spec, node_name=record.node or pod.spec.node_name)
    return msgspec.structs.replace(pod, spec=spec)


class ServerLike(MemoryStore):
    """A store that, like API servers, relies on disruptionsAllowed of budgets."""

    capabilities = Capabilities(counts_disruptions=False)
