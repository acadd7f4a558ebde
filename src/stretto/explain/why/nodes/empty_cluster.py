"""Number of gang members that fit an empty cluster: an exact search over amounts.

Host ports, and anti-affinity between members, are modelled as amounts of a node: one each. Rules
that this model does not cover can only lower the result. Therefore a gang that does not fit here
never fits.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.nodes.gang_domains import Mask
from stretto.explain.why.scene import Scene
from stretto.framework.contract.rule import Neighbours
from stretto.state.classes.table import PodClass
from stretto.state.queries.gang_attempts import (
    NodeAmounts,
    gang_amounts,
    idle_amounts,
    kinds_of,
)
from stretto.state.queries.packing import PackingProblem, pack, without_spare

Amounts = npt.NDArray[np.int64]


def fit_when_empty(scene: Scene, rows: Sequence[int], domains: Sequence[Mask]) -> int:
    """Number of pods of a gang that fit together on the emptied nodes of one domain.

    If the search reaches its limit, the pods count as fitting.
    """
    problem, slots = _empty_cluster(scene, rows), scene.cluster.nodes.live_slots()
    best = 0
    for mask in domains:
        here = without_spare(problem._replace(eligible=problem.eligible & mask[slots]))
        best = _most(here, best, len(rows))
        if best == len(rows):
            break
    return min(best, _apart_bound(scene, rows, slots))


def _most(problem: PackingProblem, least: int, most: int) -> int:
    """Largest number of members between ``least`` and ``most`` that the search does not exclude."""
    tried = most  # usually all of them fit
    while least < most:
        found = pack(problem, tried)
        if found.nodes is not None or not found.is_proven:
            least = tried
        else:
            most = tried - 1
        tried = (least + most + 1) // 2
    return least


def _empty_cluster(scene: Scene, rows: Sequence[int]) -> PackingProblem:
    """Packing problem: the members of a gang and every node without its pods."""
    cluster = scene.cluster
    slots, view = cluster.nodes.live_slots(), scene.view()
    kinds = kinds_of(cluster.pods.class_id[np.array(rows, np.int64)])
    idle = idle_amounts(cluster)
    here = NodeAmounts(idle.free[:, slots], idle.device_free[slots], idle.device_kind[slots])
    need, free = gang_amounts(cluster, kinds.ids, here)
    classes = [cluster.classes[class_id] for class_id in kinds.ids.tolist()]
    eligible = np.stack(
        [
            Inquiry(scene.rules(rows[members[0]])[0], pod, view, slots).fits_when_empty()
            for pod, members in zip(classes, kinds.members, strict=True)
        ]
    )
    single = np.concatenate([_ports(classes), _apart_on_hosts(classes, view.look)], axis=1)
    need = np.concatenate([need, single], axis=1)
    free = np.concatenate([free, np.ones((len(slots), single.shape[1]), np.int64)], axis=1)
    return PackingProblem(free, need, eligible, kinds.counts)


def _ports(classes: Sequence[PodClass]) -> Amounts:
    """int64[kind, port]: 1 where a kind requests a host port."""
    ports = sorted({port for pod in classes for port in pod.ports})
    requested = np.array([[port in pod.ports for port in ports] for pod in classes])
    return requested.reshape(len(classes), len(ports)).astype(np.int64)


def _apart_on_hosts(classes: Sequence[PodClass], look: Neighbours | None) -> Amounts:
    """int64[kind, term]: 1 where anti-affinity of a kind separates its own pods by host."""
    terms = sorted(
        {term for pod in classes for term in _own_terms(pod)} if look is not None else ()
    )
    hosts = [term for term in terms if look is not None and look.is_host(term[0])]
    apart = np.array([[term in _own_terms(pod) for term in hosts] for pod in classes])
    return apart.reshape(len(classes), len(hosts)).astype(np.int64)


def _own_terms(pod: PodClass) -> list[tuple[str, int]]:
    """Anti-affinity terms of a class that select its own pods, as (key, population)."""
    counted = pod.terms.counted
    return [term for term in pod.terms.anti_affinity if term[1] in counted]


def _apart_bound(scene: Scene, rows: Sequence[int], slots: npt.NDArray[np.int64]) -> int:
    """Upper bound from anti-affinity over larger domains: one member in each, and all others."""
    cluster, look = scene.cluster, scene.view().look
    bound = len(rows)
    if look is None:
        return bound
    classes = [cluster.classes[int(cluster.pods.class_id[row])] for row in rows]
    for term in {term for pod in classes for term in _own_terms(pod)}:
        domain = look.domain(term[0])[slots]
        apart = sum(term in _own_terms(pod) for pod in classes)
        bound = min(bound, len(rows) - apart + len(np.unique(domain[domain > 0])))
    return bound
