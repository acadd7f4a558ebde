"""Reasons why a pod with volumes is unschedulable: kube-scheduler's message and retry events."""

from collections import Counter

import numpy as np

from stretto.framework.engine.diagnosis import message_of
from stretto.framework.engine.runtime import Runtime
from stretto.framework.volumes.rules import VolumeJudgement
from stretto.state.work.claims import PlacementFailure
from stretto.state.work.units import Cure


def has_no_slot(judged: VolumeJudgement) -> bool:
    """Return whether no node is feasible for the volumes of a pod."""
    return bool(judged.nowhere[1]) or (judged.allowed is not None and not judged.allowed.any())


def placement_failure(runtime: Runtime, class_id: int, judged: VolumeJudgement) -> PlacementFailure:
    """Reason why a pod is unschedulable, with each node under the first rule that rejects it."""
    cluster = runtime.engine.cluster
    pod, slots = cluster.classes[class_id], cluster.nodes.live_slots()
    reason = judged.nowhere[1]
    if reason:
        message = f"0/{len(slots)} nodes are available: {reason}."
        return PlacementFailure(Cure.POD_CHANGED | Cure.VOLUME_CHANGED, message)
    counts: Counter[str] = Counter()
    cures, left = Cure.POD_CHANGED | Cure.NODE_ADDED, np.ones(len(slots), np.bool_)
    by_rule = {each.rule: each for each in judged.said}
    for rule in runtime.engine.profile.filters:
        before = left
        if rule.NAME in by_rule:
            result = by_rule[rule.NAME]
            refused = result.refused[slots] & left
            for number, count in enumerate(np.bincount(result.which[slots][refused])):
                for text in result.reasons[number] if count else ():
                    counts[text] += int(count)
            left = left & ~refused
            cures |= rule.CURES if refused.any() else Cure.NONE
        elif rule.signature(pod) is not None:
            for each in rule.refusals(pod, runtime.view, slots):
                counts[each.reason] += int((each.mask & before).sum())
                left = left & ~each.mask
            cures |= rule.cures(pod) if (before & ~left).any() else Cure.NONE
    return PlacementFailure(cures, message_of(+counts, int(left.sum()), len(slots)))
