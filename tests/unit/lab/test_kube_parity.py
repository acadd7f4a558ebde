"""The random pods and varied nodes of parity live."""

import json
from typing import Any

from stretto.api import codec
from stretto.api.types.pod import Pod
from stretto.base.rng import Rng
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.parity.scheduler import ExactScheduler
from stretto_lab.bench.kube.parity.pods import node_bodies, pod_body
from stretto_lab.conformance.kube_cases import ConformanceCase

PODS = [pod_body(number, Rng(7).child("pod", number)) for number in range(300)]


def specs() -> list[dict[str, Any]]:
    """The specs of all pods."""
    return [json.loads(body)["spec"] for body in PODS]


def test_a_seed_gives_the_same_cluster_and_pods_again() -> None:
    assert PODS[9] == pod_body(9, Rng(7).child("pod", 9))
    assert node_bodies(20, Rng(3)) == node_bodies(20, Rng(3)) != node_bodies(20, Rng(4))


def test_random_pods_use_every_rule_that_reads_pods_and_nodes() -> None:
    kinds = {kind for spec in specs() for kind in spec.get("affinity", {})}
    assert kinds == {"nodeAffinity", "podAffinity", "podAntiAffinity"}
    assert {"nodeSelector", "tolerations", "topologySpreadConstraints"} <= set().union(*specs())
    assert any("ports" in spec["containers"][0] for spec in specs())
    assert any("resources" not in spec["containers"][0] for spec in specs())


def test_random_pods_go_to_some_nodes_and_some_go_nowhere() -> None:
    nodes = node_bodies(50, Rng(7).child("nodes"))
    cluster = codec.decode_as(ConformanceCase, b'{"id": "c", "nodes": [%s]}' % b", ".join(nodes))
    scheduler = ExactScheduler(ParitySnapshot(cluster.nodes, (), ()))
    decisions = [scheduler.decide(codec.decode_as(Pod, body)) for body in PODS[:100]]
    counts = {len(decision.feasible) for decision in decisions}
    assert 0 in counts
    assert len(counts) > 10
    assert sum(len(decision.best) == 1 for decision in decisions) > 30
