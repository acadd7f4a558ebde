"""Reclaim against an exhaustive search: lawful, sufficient, no needless eviction, and complete."""

from collections.abc import Iterable, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.control.queues.config import QueueConfig
from stretto.control.queues.reclaim import (
    ReclaimablePod,
    ReclaimRequest,
    RunningGang,
    choose_victims,
)
from stretto.state.queues.tree import QueueTree
from tests.support.references.reclaim import Pod, Scene
from tests.unit.control.dispatcher.fake_cluster import FlatPool

PARENTS = {"a": "top", "b": "top", "c": "root", "top": "root"}
QUEUES = st.sampled_from(["b", "b", "c", "a", "top"])


class SceneGround:
    """A scene as reclaim sees it."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def running(self, queue: str) -> list[ReclaimablePod]:
        return [
            ReclaimablePod(pod.row, pod.slot, pod.queue, pod.unit, ((0, pod.cpu),), 0, pod.row)
            for pod in self.scene.pods
            if pod.queue == queue
        ]

    def team(self, unit: str) -> RunningGang | None:
        if unit not in self.scene.least:
            return None
        rows = frozenset(pod.row for pod in self.scene.pods if pod.unit == unit)
        return RunningGang(self.scene.least[unit], rows)

    def pending(self) -> list[tuple[str, tuple[tuple[int, int], ...], int]]:
        return []

    def fits(self, slot: int, classes: Sequence[int], going: Iterable[int]) -> bool:
        return self.scene.fits(slot, classes, going)


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


def tree_of(scene: Scene) -> QueueTree:
    configs = [
        QueueConfig(
            name,
            parent="" if parent == "root" else parent,
            guarantee={"cpu": scene.guarantees[name]} if name in scene.guarantees else {},
        )
        for name, parent in PARENTS.items()
    ]
    tree = QueueTree(FlatPool(), configs)
    for pod in scene.pods:
        tree.charge(pod.queue, pod.unit, ((0, pod.cpu),))
    return tree


def decided(scene: Scene, cpu: int) -> frozenset[int]:
    asked = ReclaimRequest("a", "new", (cpu,), ((0, cpu),))
    return frozenset(each.row for each in choose_victims(tree_of(scene), asked, SceneGround(scene)))


@settings(max_examples=300)
@given(scenes(), st.integers(1, 3))
def test_who_leaves_may_leave_is_enough_and_leaves_not_in_vain(scene: Scene, cpu: int) -> None:
    if any(scene.fits(slot, [cpu], ()) for slot in range(len(scene.sizes))):
        return
    gone = decided(scene, cpu)
    if gone:
        assert scene.is_lawful("a", cpu, gone)
        assert any(scene.fits(slot, [cpu], gone) for slot in range(len(scene.sizes)))
        assert not any(answer < gone for answer in scene.answers("a", cpu))


@settings(max_examples=200)
@given(scenes(even=True), st.integers(1, 2))
def test_where_pods_are_alike_whoever_can_be_found_is_found(scene: Scene, cpu: int) -> None:
    if any(scene.fits(slot, [cpu], ()) for slot in range(len(scene.sizes))):
        return
    answers = scene.answers("a", cpu)
    gone = decided(scene, cpu)
    assert bool(gone) == bool(answers)
    assert not answers or len(gone) == min(map(len, answers))
