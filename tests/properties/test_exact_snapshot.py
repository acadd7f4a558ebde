"""The updated state of the exact path equals a recomputed one."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.framework.model.pod_facts import key_of
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.parity.scheduler import ExactScheduler
from stretto_lab.conformance import kube_cases
from stretto_lab.conformance.kube_cases import ConformanceCase, Fields, decoded, fields

DATA = Path(__file__).resolve().parents[1] / "conformance" / "data"
CASES = [
    case
    for case in kube_cases.read(DATA / "cases.jsonl.gz")
    if case.pod is not None and len(case.nodes) > 1 and case.pods
]


def recomputed(case: ConformanceCase, gone_pods: set[str], gone_node: str) -> Fields:
    nodes = [each for each in case.nodes if each.metadata.name != gone_node]
    pods = [
        each
        for each in case.pods
        if each.metadata.name not in gone_pods and each.spec.node_name != gone_node
    ]
    assert case.pod is not None
    scheduler = ExactScheduler(ParitySnapshot(nodes, pods, map(decoded, case.objects)))
    return fields(scheduler.decide(case.pod, thorough=True))


@settings(max_examples=35)
@given(st.data())
def test_a_snapshot_that_followed_every_change_decides_like_a_new_one(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(CASES))
    assert case.pod is not None
    names = [each.metadata.name for each in case.pods]
    gone = data.draw(st.sets(st.sampled_from(names)))
    snapshot = ParitySnapshot(case.nodes, case.pods, map(decoded, case.objects))
    scheduler = ExactScheduler(snapshot)
    scheduler.decide(case.pod)  # so that counts exist, and must follow
    for pod in case.pods:
        if pod.metadata.name in gone and pod.spec.node_name in snapshot.nodes.index:
            snapshot.forget(key_of(pod))
    assert fields(scheduler.decide(case.pod, thorough=True)) == recomputed(case, gone, "")


@settings(max_examples=25)
@given(st.data())
def test_a_node_that_goes_takes_its_pods_and_nothing_else(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(CASES))
    assert case.pod is not None
    gone = data.draw(st.sampled_from([each.metadata.name for each in case.nodes]))
    snapshot = ParitySnapshot(case.nodes, case.pods, map(decoded, case.objects))
    snapshot.remove_node(gone)
    got = fields(ExactScheduler(snapshot).decide(case.pod, thorough=True))
    assert got == recomputed(case, set(), gone)


@settings(max_examples=25)
@given(st.data())
def test_nodes_that_come_late_or_again_count_like_those_from_the_start(
    data: st.DataObject,
) -> None:
    case = data.draw(st.sampled_from(CASES))
    assert case.pod is not None
    early = data.draw(st.integers(0, len(case.nodes)))
    snapshot = ParitySnapshot(case.nodes[:early], (), map(decoded, case.objects))
    ExactScheduler(snapshot).decide(case.pod)
    snapshot.put_nodes(case.nodes[early // 2 :])
    for pod in case.pods:
        snapshot.add_pod(pod)
    got = fields(ExactScheduler(snapshot).decide(case.pod, thorough=True))
    assert got == recomputed(case, set(), "")


@pytest.mark.parametrize("case", [c for c in CASES if "pods_limit" in c.features][:5])
def test_forgetting_an_assumed_pod_leaves_no_trace(case: ConformanceCase) -> None:
    assert case.pod is not None
    snapshot = ParitySnapshot(case.nodes, case.pods, map(decoded, case.objects))
    scheduler = ExactScheduler(snapshot)
    before = scheduler.decide(case.pod, thorough=True)
    other = msgspec.structs.replace(case.pod.metadata, name="other")
    facts = snapshot.compiler.facts(msgspec.structs.replace(case.pod, metadata=other))
    snapshot.assume(facts, snapshot.nodes.names[0])
    snapshot.forget(facts.key)
    assert fields(scheduler.decide(case.pod, thorough=True)) == fields(before)
