"""What the index of victims is worth: priority sums against walking every node.

Two preemptors stand in front of the bench's cluster, whose running pods all have a lower priority:
one that no node could hold whoever left, and one that a few pods' leaving would help. The plain
counterpart rehearses each preemption on every node, the way that the index is held equal to.
"""

from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import POD
from stretto.base.errors import CheckFailedError
from stretto.framework.compiled.one_node import PreemptionDryRun, Preemptor, VictimCandidate, best
from stretto.framework.placers import Finder
from stretto.inputs.neutral.fleet import FleetPod
from stretto.inputs.objects.objects import pod_object
from stretto.stores.store import WriteOutcome
from stretto_lab.bench.ablation.score_cache import Ablation, AblationScene, scene_time

PRIORITY: Final = 1000
"""Of the preemptors; what runs has none."""
HOPELESS: Final = FleetPod("hopeless", 1_000_000, 1024, priority=PRIORITY)
"""Asks for more cores than any node has."""
WELCOME: Final = FleetPod("welcome", 0, 1024, priority=PRIORITY)
"""Asks for as many cores as the bench says: some node has them once a few pods have left."""
WALKS: Final = 3
"""Times that all nodes are walked."""
PART: Final = "Preemption by priority sums"


def preemption(scene: AblationScene) -> list[Ablation]:
    """A search by priority sums, against a rehearsal on every node.

    Raises:
        CheckFailedError: both find another victim, or the hopeless pod is helped.
    """
    most = max(node.cpu_milli for node in scene.nodes)
    hopeless = _row(scene, HOPELESS)
    welcome = _row(scene, msgspec.structs.replace(WELCOME, cpu_milli=most * 9 // 10))
    plane = scene.plane
    finder = plane.factory.placers.finder(
        plane.shards[0].default.runtime, plane.budgets, plane.clock
    )
    found = []
    for row, what in ((hopeless, "rejection"), (welcome, "victims found")):
        plain = _walk(scene, row)
        fast = _search(scene, finder, row)
        if (fast is None) != (plain is None) or (
            fast is not None and plain is not None and _key(scene, fast) != _key(scene, plain)
        ):
            raise CheckFailedError("the index of victims", f"another answer for the {what}")
        quick = scene_time(lambda row=row: _search(scene, finder, row))  # type: ignore[misc]
        slow = scene_time(lambda row=row: _walk(scene, row), looks=WALKS)  # type: ignore[misc]
        found.append(Ablation(PART, "a rehearsal on every node", what, quick, slow))
    return found


def _row(scene: AblationScene, pod: FleetPod) -> int:
    """A row for a pod that a gate keeps from being scheduled."""
    body: dict[str, Any] = pod_object(pod)
    body["spec"]["schedulingGates"] = [{"name": "bench"}]
    (reply,) = scene.store.create(POD, [msgspec.json.encode(body)])
    if reply.outcome is not WriteOutcome.OK or reply.record is None:
        raise CheckFailedError("the bench", f"a pod was refused: {reply.message}")
    scene.plane.run_until_idle()
    row = scene.plane.cluster.pods.row(reply.record.uid)
    if row is None:
        raise CheckFailedError("the bench", "a pod was not seen")
    return row


def _search(scene: AblationScene, finder: Finder, row: int) -> VictimCandidate | None:
    """One cycle with one preemptor, by the index."""
    finder.begin(scene.empty_plan())
    return finder.find(row).candidate


def _walk(scene: AblationScene, row: int) -> VictimCandidate | None:
    """The same by rehearsing on every node that admits the pod."""
    plane = scene.plane
    pods, rules = plane.cluster.pods, plane.config.profile.preemption
    plane.budgets.sync()
    rehearsal = PreemptionDryRun(plane.cluster, rules, plane.budgets, plane.clock.monotonic())
    preemptor = Preemptor(int(pods.class_id[row]), int(pods.priority[row]))
    admitted = scene.admitting(preemptor.class_id)
    tried = (rehearsal.on_slot(preemptor, slot) for slot in admitted)
    return best(rehearsal, [each for each in tried if each is not None])


def _key(scene: AblationScene, candidate: VictimCandidate) -> tuple[object, ...]:
    """What makes two answers equally good: the order of candidates, then the slot."""
    plane = scene.plane
    rules = plane.config.profile.preemption
    rehearsal = PreemptionDryRun(plane.cluster, rules, plane.budgets, plane.clock.monotonic())
    return (*rehearsal.key(candidate), candidate.slot)
