"""The recorded sequences once more, through a whole plane: pod after pod, volumes written."""

from pathlib import Path

import pytest

from stretto.lab import conformance
from stretto.lab.conformance import Case
from tests.parity import Parity

DATA = Path(__file__).parent / "data" / "sequences.jsonl.gz"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "kube_parity"


def differing_steps(case: Case) -> list[str]:
    """Steps at which a plane puts the pod elsewhere, or says something else of it."""
    plane = Parity()
    for item in (*map(conformance.decoded, case.objects), *case.nodes, *case.pods):
        plane.put(item)
    plane.settle()
    differing = []
    for number, (pod, want) in enumerate(zip(case.sequence, case.expect["steps"], strict=True)):
        plane.submit_pod(pod)
        plane.settle()
        name = pod.metadata.name
        got = plane.node_of(name, pod.metadata.namespace), plane.said.get(name, "")
        if got != (want.get("choice", ""), want.get("message", "")):
            differing.append(f"{case.id} {number}: wanted {want}, got {got}")
    return differing


@pytest.mark.timeout(60)
def test_a_plane_takes_every_recorded_step_of_the_sequences_in_the_repository() -> None:
    cases = list(conformance.read(DATA))
    assert len(cases) >= 80
    assert [step for case in cases for step in differing_steps(case)] == []


@pytest.mark.slow
def test_a_plane_takes_every_recorded_step_of_all_sequences() -> None:
    if not (SHARED / "sequences.jsonl.gz").exists():
        pytest.skip("the whole set of recordings is not beside this repository")
    cases = conformance.read(SHARED / "sequences.jsonl.gz")
    assert [step for case in cases for step in differing_steps(case)] == []
