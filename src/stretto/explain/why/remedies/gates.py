"""Cures of scheduling gates on a pod or on members of its gang: the pods and their gates."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from stretto.api.types.heads import GROUP_NOTE
from stretto.explain.why.remedies.remedy import CureKind, Remedy
from stretto.explain.why.scene import Scene
from stretto.explain.words.standing import joined
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState

SHOWN: Final = 3
"""Number of pods that a sentence names; ``pods`` of the cure contains all of them."""


def gated_members(cluster: Cluster, row: int) -> list[int]:
    """Rows of the gated pods of a pod's PodGroup; empty without a PodGroup."""
    states = cluster.pods.state[: cluster.pods.length]
    return list(_of_group(cluster, row, np.flatnonzero(states == PodState.GATED).tolist()))


def waiting_member(cluster: Cluster, row: int) -> int | None:
    """A pending pod of a pod's PodGroup without scheduling gates; ``None`` if there is none."""
    states = cluster.pods.state[: cluster.pods.length]
    pending = np.flatnonzero((states == PodState.PENDING) | (states == PodState.UNSCHEDULABLE))
    return next(_of_group(cluster, row, pending.tolist()), None)


def _of_group(cluster: Cluster, row: int, rows: Sequence[int]) -> Iterator[int]:
    """Filter rows by the PodGroup of a pod."""
    pods, tags = cluster.pods, cluster.domains.tags
    group = tags.labels_of(int(pods.tag[row])).get(GROUP_NOTE, "")
    space = pods.key(row).partition("/")[0]
    for each in rows if group else ():
        same = tags.labels_of(int(pods.tag[each])).get(GROUP_NOTE) == group
        if same and pods.key(each).partition("/")[0] == space:
            yield each


def release(scene: Scene, rows: Sequence[int]) -> Remedy:
    """Cure: the removal of the gates of members that complete a gang which then fits."""
    names = tuple(scene.cluster.pods.key(row) for row in rows)
    sentence = f"Removing {gates_text(scene, rows)} would let the whole gang start."
    return Remedy(CureKind.GATES, sentence, pods=names)


def awaited(scene: Scene, rows: Sequence[int]) -> Remedy:
    """Event after which a gang with gated members is tried."""
    sentence = f"Its gang is tried after the removal of {gates_text(scene, rows)}."
    return Remedy(CureKind.EVENT, sentence)


def gates_text(scene: Scene, rows: Sequence[int]) -> str:
    """Gates of some pods, with the pods: ``x.io/a from default/p and default/q``."""
    pods: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        key = scene.cluster.pods.key(row)
        pods.setdefault(scene.objects.gates.get(key, ()), []).append(key)
    parts = [
        f"{joined(gates, 'and') or 'the scheduling gates'} from {_shown(names)}"
        for gates, names in pods.items()
    ]
    return joined(parts, "and")


def _shown(names: Sequence[str]) -> str:
    """Some names as text; names beyond the first few as a number."""
    more = len(names) - SHOWN
    return joined(names, "and") if more <= 0 else joined([*names[:SHOWN], f"{more} more"], "and")
