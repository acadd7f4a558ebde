"""Reasons with details of one pod: the pods and constraints behind the reason of its class.

Reasons of a class are computed without reading pods, because metrics need them often. An
explanation of one pod replaces their sentences by more exact ones.
"""

from collections.abc import Iterable

import msgspec
import numpy as np

from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.nodes.between_pods import NAMED, PodsBetween, between_texts
from stretto.explain.why.nodes.volume_nodes import volume_texts
from stretto.explain.words.reasons import Reason, ReasonCode
from stretto.explain.words.standing import joined
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.pods import NO_SLOT


def detailed(
    reasons: Iterable[Reason], inquiry: Inquiry, cluster: Cluster, row: int
) -> list[Reason]:
    """Return the same reasons; those about other pods, host ports and volumes name their causes.

    If volumes exclude some nodes and other pods the rest, the first reason names both.
    """
    found = [_detailed(each, inquiry, cluster, row) for each in reasons]
    if [each.code for each in found] == [ReasonCode.VOLUMES, ReasonCode.OTHER_PODS]:
        both = f"{found[0].sentence} {found[1].sentence}"
        found[0] = msgspec.structs.replace(found[0], sentence=both)
    return found


def _detailed(found: Reason, inquiry: Inquiry, cluster: Cluster, row: int) -> Reason:
    look = inquiry.view.look
    if found.code is ReasonCode.OTHER_PODS and look is not None:
        texts = list(between_texts(PodsBetween(cluster, inquiry, look)))
        if texts:
            head = found.sentence.partition(": ")[0]
            return msgspec.structs.replace(found, sentence=f"{head}: {'; '.join(texts)}.")
    if found.code is ReasonCode.VOLUMES:
        texts = list(volume_texts(cluster, row))
        sentence = f"{found.sentence[:-1]}; {'; '.join(texts)}." if texts else found.sentence
        return msgspec.structs.replace(found, sentence=sentence)
    if found.code is ReasonCode.PORTS:
        holders = port_holders(inquiry, cluster)
        names = [f"{cluster.pods.key(row)} on {cluster.node_of(row)}" for row in holders[:NAMED]]
        more = [f"{len(holders) - NAMED} more"] if len(holders) > NAMED else []
        sentence = f"{found.sentence[:-1]}, by {joined([*names, *more], 'and')}."
        return msgspec.structs.replace(found, sentence=sentence if names else found.sentence)
    return found


def port_holders(inquiry: Inquiry, cluster: Cluster) -> list[int]:
    """Rows of the running pods that use a host port of the pending pod, by node and name."""
    pods, classes, table = cluster.pods, cluster.classes, cluster.ledger.ports
    wanted = table.conflict_mask(inquiry.pod.ports)
    held = np.flatnonzero(pods.slot[: pods.length] != NO_SLOT)
    holding = [
        class_id
        for class_id in np.unique(pods.class_id[held]).tolist()
        if (mine := classes[class_id].ports)
        and bool((table.own_mask(mine)[: len(wanted)] & wanted).any())
    ]
    rows = held[np.isin(pods.class_id[held], holding)].tolist()
    return sorted(rows, key=lambda row: (cluster.node_of(row), pods.key(row)))
