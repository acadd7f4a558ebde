"""The default profile against what kube-scheduler decided: the same nodes do, up to rounding."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from stretto.api import codec
from stretto.api.wire.meta import Wire
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.framework.profile.profile import load_profile
from stretto.testing import Harness
from stretto_lab.conformance import kube_cases
from stretto_lab.conformance.kube_cases import ConformanceCase
from tests.conformance.test_live import DATA, NOT_LIVE, SHARED
from tests.support.parity_plane import ServerLike, ours

PROFILE = load_profile({"profiles": [{"stretto": {"preemption": False}}]})
#: Requests to the kilobyte: amounts are rounded against the pod, so a full node may be passed over.
ROUNDED = {"fit", "ephemeral_storage", "hugepages"}


def chosen(case: ConformanceCase) -> str:
    """The node that a plane chooses for the pod of a case; empty for none."""
    store = ServerLike(ManualClock(), Rng(0))
    harness = Harness((), profile=PROFILE, store=store, config={"tier": "numpy"})
    wanted: list[str] = []
    names = harness.plane.cluster.nodes.names

    def put(item: Wire) -> None:
        harness.put(codec.kind_of_struct(item), codec.encode(item))

    for item in (*map(kube_cases.decoded, case.objects), *case.nodes, *case.pods):
        put(item)
    harness.settle()
    harness.plane.observers.append(
        lambda step: wanted.extend(names[s] for p in step.plans for s in p.slots.tolist() if s >= 0)
    )
    assert case.pod is not None
    put(ours(case.pod))
    harness.plane.run_until_idle()
    return wanted[-1] if wanted else ""


def differing(path: Path, every: int = 1) -> Iterator[str]:
    """Cases in which the pod goes where kube-scheduler would not have it, or nowhere at all."""
    for case in islice(kube_cases.read(path), 0, None, every):
        if NOT_LIVE.intersection(case.features):
            continue
        feasible, node = case.expect["feasible"], chosen(case)
        passed_over = not node and (not feasible or ROUNDED.intersection(case.features))
        if node not in feasible and not passed_over:
            yield f"{case.id}: {node or 'nowhere'}, feasible are {feasible}"


def test_a_pod_gets_the_node_of_kube_scheduler() -> None:
    assert list(differing(DATA / "cases.jsonl.gz", every=4)) == []


@pytest.mark.slow
def test_a_pod_gets_the_node_of_kube_scheduler_in_every_recording() -> None:
    if not (SHARED / "cases.jsonl.gz").exists():
        pytest.skip("the whole set of recordings is not beside this repository")
    assert list(differing(SHARED / "cases.jsonl.gz")) == []
