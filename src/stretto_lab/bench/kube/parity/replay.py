"""Live parity: kube-scheduler's choice for each pod, compared with Stretto's best nodes.

Random pods are created one at a time in a cluster of varied nodes with a real kube-scheduler. A
plane with the ``kube-parity`` profile observes the cluster and binds nothing; before it receives
the binding of a pod, it computes the best nodes. kube-scheduler chooses randomly among equal nodes,
so its choice must be one of the best. If it finds no node, none may be feasible and both messages
must be equal.
"""

from collections.abc import Callable

import msgspec

from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.stores.kube.login.access import KubeconfigAccess
from stretto.stores.kube.store import KubeStore
from stretto_lab.bench.kube.options import KUBE_SCHEDULER
from stretto_lab.bench.kube.parity.pods import node_bodies, pod_body
from stretto_lab.bench.kube.parity.report import ParityReport
from stretto_lab.bench.kube.parity.trial import ParityTrial
from stretto_lab.bench.kube.replay import LONG_TIMEOUTS
from stretto_lab.bench.kube.site import API_FLAGS, SCHEDULER_FLAGS
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig

OnDeviation = Callable[[str], None]
"""Callback with the JSON of each deviation."""


def run_parity(
    pods: int, nodes: int, rng: Rng, clock: Clock, on_deviation: OnDeviation
) -> ParityReport:
    """Create random pods for kube-scheduler and compare each choice with the best nodes.

    Raises:
        StrettoError: a program cannot be built or has exited, or an object is rejected.
        TimeoutExpiredError: kube-scheduler makes no decision in time.
    """
    config = ControlPlaneConfig((KUBE_SCHEDULER,), (), False, API_FLAGS, SCHEDULER_FLAGS)
    report = ParityReport()
    with ControlPlane(config, clock) as control:
        store = KubeStore(KubeconfigAccess(control.kubeconfig), rng.child("waits"), LONG_TIMEOUTS)
        try:
            trial = ParityTrial(store, store.wait, clock)
            trial.prepare(node_bodies(nodes, rng.child("nodes")))
            for number in range(pods):
                control[KUBE_SCHEDULER].check()
                before = len(report.deviations)
                trial.one(pod_body(number, rng.child("pod", number)), report)
                for each in report.deviations[before:]:
                    on_deviation(msgspec.json.encode(each).decode())
            trial.plane.close()
        finally:
            store.close()
    return report
