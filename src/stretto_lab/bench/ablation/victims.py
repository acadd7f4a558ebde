"""The gain of the victim index: priority sums, compared with a dry run on every node.

Two preemptors are placed in the cluster of the bench, whose running pods all have a lower priority:
one that fits on no node after any eviction, and one that fits after a few evictions. The plain
counterpart runs the preemption dry run on every node, which is the reference of the index.
"""

from typing import Any, Final

import msgspec
import numpy as np

from stretto.api.wire.kinds import POD
from stretto.base.errors import CheckFailedError
from stretto.framework.compiled.one_node import PreemptionDryRun, Preemptor, VictimCandidate, best
from stretto.framework.placers import Finder
from stretto.framework.preemption.terms import PriorityTerms
from stretto.inputs.neutral.fleet import FleetPod
from stretto.inputs.objects.objects import pod_object
from stretto.state.work.claims import Plan
from stretto.stores.store import WriteOutcome
from stretto_lab.bench.ablation.scene import Ablation, AblationScene, scene_time

PRIORITY: Final = 1000
"""Priority of the preemptors; running pods have priority 0."""
IMPOSSIBLE: Final = FleetPod("impossible", 1_000_000, 1024, priority=PRIORITY)
"""Pod that requests more cores than any node has."""
FEASIBLE: Final = FleetPod("feasible", 0, 1024, priority=PRIORITY)
"""Pod that requests most of a node; some node has this capacity after a few evictions."""
REPETITIONS: Final = 3
"""Repetitions of the dry run on all nodes."""
PART: Final = "Preemption by priority sums"


def preemption(scene: AblationScene) -> list[Ablation]:
    """Time a search by priority sums and a dry run on every node.

    Raises:
        CheckFailedError: the two searches find different victims.
    """
    most = max(node.cpu_milli for node in scene.objects.nodes)
    impossible = _row(scene, IMPOSSIBLE)
    feasible = _row(scene, msgspec.structs.replace(FEASIBLE, cpu_milli=most * 9 // 10))
    plane = scene.plane
    terms = PriorityTerms(plane.cluster, plane.config.profile.preemption)
    finder = plane.factory.placers.finder(
        plane.shards[0].default.runtime, terms, plane.budgets, plane.clock
    )
    found = []
    for row, what in ((impossible, "rejection"), (feasible, "victims found")):
        plain = _walk(scene, row)
        fast = _search(finder, row)
        if (fast is None) != (plain is None) or (
            fast is not None and plain is not None and _key(scene, fast) != _key(scene, plain)
        ):
            raise CheckFailedError("the index of victims", f"different results for the {what}")
        quick = scene_time(lambda row=row: _search(finder, row))  # type: ignore[misc]
        slow = scene_time(lambda row=row: _walk(scene, row), samples=REPETITIONS)  # type: ignore[misc]
        found.append(Ablation(PART, "a dry run on every node", what, quick, slow))
    return found


def _row(scene: AblationScene, pod: FleetPod) -> int:
    """Create a pod with a scheduling gate and return its row."""
    body: dict[str, Any] = pod_object(pod)
    body["spec"]["schedulingGates"] = [{"name": "bench"}]
    (reply,) = scene.objects.store.create(POD, [msgspec.json.encode(body)])
    if reply.outcome is not WriteOutcome.OK or reply.record is None:
        raise CheckFailedError("the bench", f"the store rejected a pod: {reply.message}")
    scene.plane.run_until_idle()
    row = scene.plane.cluster.pods.row(reply.record.uid)
    if row is None:
        raise CheckFailedError("the bench", "a pod is missing in the plane")
    return row


def _search(finder: Finder, row: int) -> VictimCandidate | None:
    """Search with the index, in a cycle with one preemptor."""
    finder.begin(_empty_plan())
    return finder.find(row).candidate


def _walk(scene: AblationScene, row: int) -> VictimCandidate | None:
    """Search with a dry run on every node that admits the pod."""
    plane = scene.plane
    pods, rules = plane.cluster.pods, plane.config.profile.preemption
    plane.budgets.sync()
    dry_run = PreemptionDryRun(plane.cluster, rules, plane.budgets, plane.clock.monotonic())
    preemptor = Preemptor(int(pods.class_id[row]), int(pods.priority[row]))
    admitted = scene.admitting(preemptor.class_id)
    tried = (dry_run.on_slot(preemptor, slot) for slot in admitted)
    return best(dry_run, [each for each in tried if each is not None])


def _key(scene: AblationScene, candidate: VictimCandidate) -> tuple[object, ...]:
    """The sort key of a candidate, then its slot."""
    plane = scene.plane
    rules = plane.config.profile.preemption
    dry_run = PreemptionDryRun(plane.cluster, rules, plane.budgets, plane.clock.monotonic())
    return (*dry_run.key(candidate), candidate.slot)


def _empty_plan() -> Plan:
    """The plan of a cycle without claims."""
    none, few = np.zeros(0, np.int64), np.zeros(0, np.int32)
    return Plan(
        shard=0, rows=none, serials=none, slots=few, generations=none, versions=none,
        devices=few, units=[], setbacks=[],
    )  # fmt: skip
