"""The recordings once more, through a whole plane: pods bound, volumes written, victims deleted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.why import explain_pod
from stretto.state.work.claims import Plan
from stretto_lab.conformance import kube_cases
from stretto_lab.conformance.kube_cases import ConformanceCase
from tests.support.parity_plane import Parity, ServerLike

DATA = Path(__file__).parent / "data"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "kube_parity"
#: Pods that name their node are bound already for a plane, gated ones are not tried, and claims of
#: ephemeral volumes belong to pods whose uid a store does not give again.
NOT_LIVE = {"node_name", "scheduling_gates", "volume_ephemeral"}
#: A sample of the cases; all of them in slow tests.
EVERY = pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])


def plane_of(case: ConformanceCase, **more: bool) -> Parity:
    """A plane over the cluster of a case."""
    plane = Parity(store=ServerLike(ManualClock(), Rng(0)), **more)
    for item in (*map(kube_cases.decoded, case.objects), *case.nodes, *case.pods):
        plane.define(item)
    plane.settle()
    return plane


def differing_steps(case: ConformanceCase) -> list[str]:
    """Steps at which a plane chooses another node or reports another message."""
    plane = plane_of(case, preempts=False)
    differing = []
    for number, (pod, want) in enumerate(zip(case.sequence, case.expect["steps"], strict=True)):
        plane.submit_pod(pod)
        plane.settle()
        name = pod.metadata.name
        got = plane.node_of(name, pod.metadata.namespace), plane.said.get(name, "")
        if got != (want.get("choice", ""), want.get("message", "")):
            differing.append(f"{case.id} {number}: wanted {want}, got {got}")
    return differing


def single_cases(path: Path) -> Iterator[ConformanceCase]:
    """Cases of one pod that a plane can decide."""
    return (each for each in kube_cases.read(path) if not NOT_LIVE.intersection(each.features))


def difference(case: ConformanceCase) -> str:
    """Return the differences of a plane for the pod of a case; empty without any."""
    plane, requested = plane_of(case), list[tuple[str, list[str]]]()
    assert case.pod is not None
    plane.plane.observers.append(lambda step: requested.extend(victims(plane, step.plans)))
    plane.submit_pod(case.pod)
    plane.plane.run_until_idle()
    name, preemption = case.pod.metadata.name, case.expect.get("preemption", {})
    if case.expect["feasible"]:
        want: object = case.expect["argmax"][0]
        got: object = plane.node_of(name, case.pod.metadata.namespace)
    elif "node" in preemption:
        leaving = {each.metadata.name for each in case.pods if each.metadata.deletion_timestamp}
        evicted = [name for name in preemption["victims"] if name not in leaving]
        want = [(preemption["node"], evicted)]  # no eviction of a terminating pod
        got = requested if "tied_nodes" not in preemption else want if requested else []
    else:
        want, got = (case.expect["message"], []), (plane.said.get(name), requested)
    return "" if got == want else f"{case.id}: wanted {want}, got {got}"


def victims(plane: Parity, plans: "list[Plan]") -> Iterator[tuple[str, list[str]]]:
    """Nodes nominated by plans for preemptors, with the names of their victims."""
    cluster = plane.plane.cluster
    for plan in plans:
        for each in plan.preemptions:
            slot = int(plan.slots[plan.units[each.claims].start])
            yield cluster.nodes.names[slot], [cluster.pods.name[row] for row in each.victims]


def explained(case: ConformanceCase) -> tuple[str, str]:
    """The plane's message for a pod that fits nowhere, and the explanation."""
    plane = plane_of(case, preempts=False)
    assert case.pod is not None
    plane.submit_pod(case.pod)
    plane.settle()
    name = case.pod.metadata.name
    scene = live_scene(plane.plane.cluster, plane.plane.config.profile, plane.plane.units)
    reported = explain_pod(scene, f"{case.pod.metadata.namespace}/{name}")
    assert reported.nodes is not None
    return plane.said[name], reported.nodes.message


@pytest.mark.timeout(60)
def test_explanations_equal_the_reported_messages() -> None:
    cases = [c for c in single_cases(DATA / "cases.jsonl.gz") if not c.expect["feasible"]]
    pairs = list(map(explained, cases[:30]))
    assert len(pairs) == 30
    assert [pair for pair in pairs if pair[0] != pair[1]] == []


@EVERY
def test_a_plane_takes_every_recorded_step_of_the_sequences_in_the_repository(every: int) -> None:
    cases = list(kube_cases.read(DATA / "sequences.jsonl.gz"))[::every]
    assert len(cases) >= 80 // every
    assert [step for case in cases for step in differing_steps(case)] == []


@EVERY
def test_a_plane_does_with_single_pods_what_was_recorded_victims_included(every: int) -> None:
    cases = list(single_cases(DATA / "cases.jsonl.gz"))[::every]
    assert len(cases) >= 250 // every
    assert list(filter(None, map(difference, cases))) == []


@pytest.mark.slow
def test_a_plane_does_all_that_was_recorded() -> None:
    if not (SHARED / "sequences.jsonl.gz").exists():
        pytest.skip("the whole set of recordings is not beside this repository")
    sequences = kube_cases.read(SHARED / "sequences.jsonl.gz")
    assert [step for case in sequences for step in differing_steps(case)] == []
    assert list(filter(None, map(difference, single_cases(SHARED / "cases.jsonl.gz")))) == []
