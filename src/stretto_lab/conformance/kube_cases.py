"""The conformance runner: the exact path compared with recorded kube-scheduler decisions.

One line of a file is one case: a cluster with a pod, or with a sequence of pods in which each is
assumed before the next. A case agrees if every recorded field agrees: codes and reasons of each
plugin on each node, scores, totals, the best nodes, the message, and preemption with its victims.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from stretto.api import codec
from stretto.api.kinds.table import TABLE
from stretto.api.types.core import Node
from stretto.api.types.pod import Pod
from stretto.api.wire.meta import Wire
from stretto.base.errors import InputError, UnknownNameError, suggestion
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import PluginStatus, StatusCode
from stretto.framework.parity.decision import (
    Decision,
    FilterResult,
    PostFilterResult,
    PreemptionCandidate,
)
from stretto.framework.parity.scheduler import WEIGHTS, ExactScheduler
from stretto_lab.conformance import lines
from stretto_lab.conformance.report import (
    CaseComparison,
    ConformanceReport,
    Disagreement,
    compare_all,
    differences,
)

PARITY: Final = "kube-parity"
"""The profile that is compared with the recordings."""

Fields = dict[str, Any]
"""Compared fields, in the form of the recordings."""


class ConformanceCase(msgspec.Struct, frozen=True):
    """One case."""

    #: Name.
    id: str
    #: The cluster's nodes.
    nodes: tuple[Node, ...] = ()
    #: Running pods.
    pods: tuple[Pod, ...] = ()
    #: All other objects.
    objects: tuple[msgspec.Raw, ...] = ()
    #: The pod of a single case.
    pod: Pod | None = None
    #: The pods of a sequence.
    sequence: tuple[Pod, ...] = ()
    #: Features that the case exercises.
    features: tuple[str, ...] = ()
    #: The recorded value.
    expect: dict[str, Any] = {}
    #: File and line, for error messages.
    origin: str = ""


def run(
    cases: Iterable[ConformanceCase], on_case: Callable[[int], None] = lambda _: None
) -> ConformanceReport:
    """Decide and compare every case; ``on_case`` receives the number of finished cases."""
    return compare_all(cases, lambda case: CaseComparison(compare(case)), on_case)


def read(path: Path) -> Iterator[ConformanceCase]:
    """Read the cases of a file, plain or gzip.

    Raises:
        InputError: the file cannot be read, or a line is not a case; the message contains the line.
    """
    for number, line in lines.numbered(path):
        where = f"{path}:{number}"
        case = codec.decode_as(ConformanceCase, line, where)
        if codec.decode_as(_LineMembers, line, where).expect is UNSET:
            raise InputError(f"{where}: expect", None, "the recorded fields", "drop the line")
        if (case.pod is None) == (not case.sequence):
            both = None if case.pod is None else "both"
            raise InputError(where, both, "a pod to decide about, or a sequence of pods")
        _check_nodes(case, where)
        yield msgspec.structs.replace(case, origin=where)


class _LineMembers(Wire, frozen=True):
    """Presence of the members of a line."""

    #: The recorded value.
    expect: msgspec.Raw | UnsetType = UNSET


def _check_nodes(case: ConformanceCase, where: str) -> None:
    seen: set[str] = set()
    for index, node in enumerate(case.nodes):
        name = node.metadata.name
        if name in seen:
            field = f"{where}: nodes[{index}].metadata.name"
            raise InputError(field, name, "a unique name (an earlier node has the same)")
        seen.add(name)


def compare(case: ConformanceCase) -> list[Disagreement]:
    """Compare one case; return the differing fields.

    Raises:
        InputError: one of its objects, or a recorded step, is malformed.
    """
    where = case.origin or case.id
    objects = (decoded(each, f"{where}: objects[{i}]") for i, each in enumerate(case.objects))
    scheduler = ExactScheduler(ParitySnapshot(case.nodes, case.pods, objects))
    if case.pod is not None:
        got = fields(scheduler.decide(case.pod, thorough=True))
        return list(differences(case.id, "", case.expect, got))
    wanted = _steps(case, where)
    found: list[Disagreement] = []
    for number, pod in enumerate(case.sequence):
        want = wanted[number] if number < len(wanted) else {}
        found += differences(case.id, f"steps[{number}].", want, step(scheduler, pod))
    for number in range(len(case.sequence), len(wanted)):
        found += differences(case.id, f"steps[{number}].", wanted[number], {})
    return found


def _steps(case: ConformanceCase, where: str) -> list[Fields]:
    """The recorded steps of a sequence."""
    try:
        return msgspec.convert(case.expect.get("steps", []), list[Fields])
    except msgspec.ValidationError as error:
        hint = f"{error}"
        raise InputError(f"{where}: expect.steps", None, "a list of objects", hint) from error


def decoded(body: msgspec.Raw, where: str = "object") -> Wire:
    """Decode an object of any kind; ``where`` is its name in errors."""
    head = codec.decode_as(_ObjectHead, bytes(body), where)
    try:
        kind = TABLE.of(head.api_version, head.kind)
        if TABLE.struct(kind) is None:
            raise TABLE.unknown(head.api_version, head.kind)
    except UnknownNameError as error:
        hint = suggestion(error.nearest[:1])
        raise InputError(where, error.name, "an object of a known kind", hint) from error
    return codec.decode(kind, bytes(body), where)


def step(scheduler: ExactScheduler, pod: Pod) -> Fields:
    """Decide about one pod of a sequence, and assume it on the first best node by name."""
    decision = scheduler.decide(pod, may_preempt=False)
    found: Fields = {"pod": pod.metadata.name, "feasible": decision.feasible_names}
    if decision.filtered is not None and decision.filtered.ended_by:
        found["prefilter"] = _prefilter(decision.filtered)
    if decision.message:
        return _present(found | {"message": decision.message})
    found["total"] = _by_node(decision, decision.total.tolist())
    found["argmax"] = decision.best
    found["choice"] = decision.best[0]
    scheduler.assume(decision, found["choice"])
    return _present(found)


def fields(decision: Decision) -> Fields:
    """Convert a decision into the form of the recordings."""
    if decision.filtered is None and decision.preenqueue.code is StatusCode.SUCCESS:
        return {"feasible": [], "message": decision.message}
    if decision.filtered is None:
        gates = {"SchedulingGates": _status(decision.preenqueue)}
        return {"preenqueue": gates, "feasible": []}
    found: Fields = {
        "prefilter": _prefilter(decision.filtered),
        "skip_filter": _skipped(decision.filtered),
        "filter": _filter(decision),
        "feasible": decision.feasible_names,
        "weights": dict(WEIGHTS),
        "message": decision.message,
    }
    if len(decision.feasible):
        found["scores"] = {
            name: _by_node(decision, score.tolist()) for name, score in decision.scores.items()
        }
        found["skip_score"] = sorted(decision.skipped_scores)
        found["total"] = _by_node(decision, decision.total.tolist())
        found["argmax"] = decision.best
    if decision.preemption is not None:
        found["preemption"] = _preemption(decision.preemption)
    return _present(found)


class _ObjectHead(Wire, frozen=True):
    """API version and kind of an object."""

    #: Group and version.
    api_version: str = ""
    #: Kind.
    kind: str = ""


def _present(found: Fields) -> Fields:
    """Remove empty members except ``feasible``."""
    return {name: each for name, each in found.items() if each or name == "feasible"}


def _status(status: PluginStatus) -> Fields:
    return _present({"code": status.code.value, "reasons": sorted(status.reasons)})


def _prefilter(filtered: FilterResult) -> Fields:
    """PreFilter results: failures, and plugins that limit the nodes."""
    found = {
        name: _status(status)
        for name, status in filtered.prefilter.items()
        if status.code is not StatusCode.SKIP
    }
    for name, check in filtered.checks.items():
        if check.only is not None:
            found[name] = {"code": StatusCode.SUCCESS.value, "nodes": sorted(check.only)}
    return found


def _skipped(filtered: FilterResult) -> list[str]:
    return sorted(n for n, status in filtered.prefilter.items() if status.code is StatusCode.SKIP)


def _filter(decision: Decision) -> Fields:
    """Rejections of all plugins, by node."""
    assert decision.filtered is not None
    found: dict[str, Fields] = {}
    for name, verdict in decision.filtered.verdicts.items():
        for node in verdict.refused.nonzero()[0].tolist():
            found.setdefault(decision.names[node], {})[name] = _status(verdict.status(node))
    return found


def _by_node(decision: Decision, values: list[int]) -> dict[str, int]:
    nodes = decision.feasible.tolist()
    return {decision.names[node]: value for node, value in zip(nodes, values, strict=True)}


def _preemption(preemption: PostFilterResult) -> Fields:
    found: Fields = {
        "status": preemption.status.code.value,
        "message": preemption.message,
        "candidates": [_candidate(each) for each in preemption.candidates],
        "rejected": {name: _status(status) for name, status in preemption.rejected.items()},
        "tied_nodes": list(preemption.tied),
    }
    if preemption.chosen is not None:
        chosen = _candidate(preemption.chosen)
        found |= {"node": chosen["node"], "victims": chosen["victims"]}
        found["pdb_violations"] = chosen["pdb_violations"]
    return _present(found)


def _candidate(candidate: PreemptionCandidate) -> Fields:
    return {
        "node": candidate.node,
        "victims": [each.key[1] for each in candidate.victims],
        "pdb_violations": candidate.violations,
    }
