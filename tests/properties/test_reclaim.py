"""Evictions across queues against exhaustive references, on planes over small random clusters.

Reclaim is lawful, sufficient, without needless evictions, and complete. Preemption evicts exactly
the victims of a plain search over the pods that no guarantee protects.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.wire.kinds import QUEUE
from stretto.testing import Harness, make_node, make_pod
from tests.support.recreating_harness import queue_object, queue_pod
from tests.support.references.reclaim import Pod, Scene

PARENTS = {"a": "top", "b": "top", "c": "root", "top": "root"}
QUEUES = st.sampled_from(["b", "b", "c", "a", "top"])


@st.composite
def scenes(draw: st.DrawFn, even: bool = False) -> Scene:
    sizes = draw(st.lists(st.integers(2, 5), min_size=1, max_size=3))
    left, pods = list(sizes), []
    for row in range(draw(st.integers(1, 8))):
        cpu = 1 if even else draw(st.integers(1, 3))
        slot = draw(st.integers(0, len(sizes) - 1))
        if left[slot] >= cpu:
            left[slot] -= cpu
            gang = not even and draw(st.booleans())
            queue = draw(QUEUES)
            unit = f"gang-{queue}-{draw(st.integers(0, 1))}" if gang else f"pod-{row}"
            pods.append(Pod(row, slot, queue, unit, cpu))
    gangs = {pod.unit for pod in pods if pod.unit.startswith("gang")}
    least = {unit: draw(st.integers(2, 3)) for unit in sorted(gangs)}
    guarantees = {
        name: draw(st.integers(1, 5))
        for name in ("a", "b", "c")
        if draw(st.booleans()) or name == "a"
    }
    return Scene(PARENTS, guarantees, least, sizes, pods)


def plane_of(scene: Scene, priorities: dict[int, int] | None = None) -> Harness:
    """A plane over the nodes, queues and running pods of a scene."""
    nodes = [make_node(f"n{i}", cpu=str(size)) for i, size in enumerate(scene.sizes)]
    harness = Harness(nodes, config={"tier": "numpy"})
    for name, parent in PARENTS.items():
        given = scene.guarantees.get(name)
        spec = {"guarantee": {"cpu": str(given)}} if given is not None else {}
        above = "" if parent == "root" else parent
        harness.create(QUEUE, queue_object(name, parent=above, **spec))
    for unit, least in scene.least.items():
        harness.group(unit, min(least, sum(pod.unit == unit for pod in scene.pods)))
    for pod in scene.pods:
        harness.submit(
            queue_pod(
                f"p{pod.row}",
                pod.queue,
                str(pod.cpu),
                node=f"n{pod.slot}",
                priority=(priorities or {}).get(pod.row, 0),
                **({"group": pod.unit} if pod.unit in scene.least else {}),
            )
        )
        harness.settle(1)
    return harness


def evicted_for(scene: Scene, harness: Harness, newcomer: bytes) -> frozenset[int]:
    """Rows that are evicted until the new pod runs or stays pending."""
    harness.submit(newcomer)
    for _ in range(4):
        harness.settle(1)
    there = harness.placements()
    return frozenset(pod.row for pod in scene.pods if f"p{pod.row}" not in there)


def reclaimed(scene: Scene, cpu: int) -> frozenset[int]:
    return evicted_for(scene, plane_of(scene), queue_pod("new", "a", str(cpu)))


def has_free_capacity(scene: Scene, cpu: int) -> bool:
    return any(scene.fits(slot, [cpu], ()) for slot in range(len(scene.sizes)))


@settings(max_examples=50)
@given(scenes(), st.integers(1, 3))
def test_a_reclaim_is_lawful_and_sufficient_and_evicts_no_pod_in_vain(
    scene: Scene, cpu: int
) -> None:
    if has_free_capacity(scene, cpu):
        return
    gone, answers = reclaimed(scene, cpu), scene.answers("a", cpu)
    if gone:
        lawful = scene.is_lawful if answers else scene.is_lawful_whole
        assert lawful("a", cpu, gone)
        assert any(scene.fits(slot, [cpu], gone) for slot in range(len(scene.sizes)))
        assert not any(answer < gone for answer in answers)


@settings(max_examples=35)
@given(scenes(even=True), st.integers(1, 2))
def test_with_pods_of_one_size_the_smallest_set_of_victims_is_found(scene: Scene, cpu: int) -> None:
    if has_free_capacity(scene, cpu):
        return
    answers = scene.answers("a", cpu)
    gone = reclaimed(scene, cpu)
    if answers:
        assert len(gone) == min(map(len, answers))
    else:
        assert not gone or scene.is_lawful_whole("a", cpu, gone)


def preempted(scene: Scene, queue: str, cpu: int, priorities: dict[int, int]) -> list[list[int]]:
    """The victims on each node where a pod of priority 5 fits, by the reference."""
    order = sorted(scene.pods, key=lambda pod: (priorities[pod.row], -pod.row))
    found = []
    for slot in range(len(scene.sizes)):
        lower = [pod.row for pod in order if pod.slot == slot and priorities[pod.row] < 5]
        victims = scene.victims_on(slot, queue, cpu, lower)
        if victims is not None:
            found.append(victims)
    return found


@settings(max_examples=50)
@given(scenes(), QUEUES, st.integers(1, 3), st.data())
def test_preemption_finds_the_victims_of_a_plain_search(
    scene: Scene, queue: str, cpu: int, data: st.DataObject
) -> None:
    scene = scene._replace(least={})
    priorities = {pod.row: data.draw(st.sampled_from([0, 1, 5])) for pod in scene.pods}
    if has_free_capacity(scene, cpu):
        return
    newcomer = queue_pod("new", queue, str(cpu), priority=5)
    gone = evicted_for(scene, plane_of(scene, priorities), newcomer)
    choices = preempted(scene, queue, cpu, priorities)
    if choices:
        key = lambda rows: (
            max(priorities[row] for row in rows),
            sum(priorities[row] + (1 << 31) for row in rows),
            len(rows),
        )
        best = min(map(key, choices))
        assert sorted(gone) in [sorted(rows) for rows in choices if key(rows) == best]
    else:
        reach = scene.reach(queue, cpu)
        assert not gone or reach is not None


def test_a_scene_with_a_pod_outside_all_queues_is_no_obstacle() -> None:
    scene = Scene(PARENTS, {"a": 1}, {}, [1], [Pod(0, 0, "c", "pod-0", 1)])
    harness = plane_of(scene)
    assert evicted_for(scene, harness, make_pod("new", cpu="1", priority=5)) == {0}
