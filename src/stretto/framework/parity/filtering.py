"""The filter part of a cycle: every plugin runs once, over all nodes as columns.

Upstream stops at the first plugin that ends the cycle, and at the first rejection of each node.
Here results are columns, so the result of every plugin is complete. ``thorough`` also runs the
plugins after one that ended the cycle, which only explanations and the conformance tests need.
"""

from collections.abc import Iterator

import numpy as np

from stretto.framework.contract.rule import NodeCheck
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import BoolArray, NodeStatuses, PluginStatus, StatusCode
from stretto.framework.parity.decision import FilterResult
from stretto.framework.plugins.table import PARITY_FILTERS


def run_filters(
    pod: SchedulingFacts, snapshot: ParitySnapshot, *, thorough: bool = False
) -> FilterResult:
    """Run every filter for a pod."""
    count = snapshot.nodes.count
    prefilter: dict[str, PluginStatus] = {}
    checks: dict[str, NodeCheck] = {}
    ended_by = ""
    # Plugins without a PreFilter step run only if no plugin ends the cycle; they are first.
    for plugin in PARITY_FILTERS:
        if ended_by and not thorough and plugin.PREFILTERS:
            break
        said = plugin.prefilter(pod, snapshot)
        if isinstance(said, NodeCheck):
            checks[plugin.NAME] = said
            continue
        prefilter[plugin.NAME] = said
        if said.code is not StatusCode.SKIP:
            ended_by = ended_by or plugin.NAME
    if ended_by and not thorough:
        checks = {}
    verdicts: dict[str, NodeStatuses] = {}
    inside, narrowed_by = _inside(checks, snapshot)
    feasible = inside.copy()
    for name, check in checks.items():
        verdict = check.verdict()
        if verdict is not None:
            verdicts[name] = verdict
            feasible &= ~verdict.refused
    if ended_by:
        feasible = np.zeros(count, np.bool_)
    found = FilterResult(prefilter, checks, verdicts, ended_by, inside, narrowed_by, feasible)
    if not snapshot.nominated or ended_by:
        return found
    crowded = dict(_crowded(pod, snapshot, found))
    feasible[list(crowded)] = False
    return found._replace(crowded=crowded)


def _crowded(
    pod: SchedulingFacts, snapshot: ParitySnapshot, found: FilterResult
) -> Iterator[tuple[int, tuple[str, PluginStatus]]]:
    """Nodes that are rejected if their nominated pods are counted.

    A node must be feasible with and without them: no affinity may depend on pods that may never
    arrive.
    """
    for node, pods in snapshot.ahead_of(pod).items():
        if not found.inside[node]:
            continue
        for name, check in found.checks.items():
            trial = check.trial(node)
            for each in pods:
                trial.add(each)
            status = trial.status()
            if status.code is not StatusCode.SUCCESS:
                yield node, (name, status)
                break


def _inside(
    checks: dict[str, NodeCheck], snapshot: ParitySnapshot
) -> tuple[BoolArray, tuple[str, ...]]:
    """Nodes that remain after PreFilter, and the plugins that narrowed them."""
    inside = np.ones(snapshot.nodes.count, np.bool_)
    names = []
    for name, check in checks.items():
        if check.only is not None:
            mask = np.zeros(snapshot.nodes.count, np.bool_)
            at = [snapshot.nodes.index.get(each) for each in check.only]
            mask[[each for each in at if each is not None]] = True
            inside &= mask
            names.append(name)
    return inside, tuple(sorted(names))
