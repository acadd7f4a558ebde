"""Enforcement of the limits of one node, or a report of them.

A limit stays only while recent measurements justify it. The first step of an agent, a step without
a measurement and the end of the agent release all limits, also those of a previous agent.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Final

import msgspec

from stretto.agent.enforcement.suppression import Processor
from stretto.agent.files import read_text
from stretto.agent.limits.files import LimitChange, LimitFiles, LimitKind
from stretto.agent.limits.plan import LimitedPod, LimitPlan, LimitRules, LimitState, plan_limits
from stretto.agent.report.status import NodeMeasurement
from stretto.agent.topology.processors import ProcessorFacts
from stretto.agent.usage.cgroups import pod_cgroups
from stretto.agent.usage.memory import CGROUPS, TREES
from stretto.state.classes.annotations import RECLAIMED_CORES

OOM_SCORE: Final = 1000
"""OOM score of processes of reclaimed pods: the kernel kills them first."""


class EnforceMode(Enum):
    """Mode of enforcement."""

    #: The agent sets no limits, and releases the limits of a previous agent.
    OFF = "off"
    #: The agent only reports limits.
    DRY_RUN = "dry-run"
    #: The agent sets limits and evicts pods.
    ON = "on"


class Enforced(msgspec.Struct, frozen=True):
    """Actions of one step, or planned actions of a dry run."""

    #: Limits that changed.
    changes: tuple[LimitChange, ...] = ()
    #: Uids of evicted pods, in order.
    evicted: tuple[str, ...] = ()
    #: Processes whose OOM score was raised.
    oom_scores: int = 0
    #: Number of limits released because no measurement justifies them any more.
    released: int = 0


Evict = Callable[[str, str], bool]
"""Evicts a pod by uid for a reason; returns whether the eviction succeeded."""


class Enforcer:
    """The limits of one node."""

    def __init__(
        self,
        root: Path,
        mode: EnforceMode,
        rules: LimitRules = LimitRules(),  # noqa: B008  (frozen)
        state: Path | None = None,
    ) -> None:
        """Release the limits of a previous agent.

        Args:
            root: root of the file system.
            mode: whether limits are set or only reported.
            rules: thresholds.
            state: directory of the record of limits.
        """
        self._root = root
        self._mode = mode
        self._rules = rules
        self._files = LimitFiles(root, state)
        self.release()

    def release(self) -> int:
        """Remove every limit of this agent and of previous agents."""
        return self._files.release_all()

    def step(
        self, node: NodeMeasurement | None, processors: ProcessorFacts, evict: Evict
    ) -> Enforced:
        """Enforce limits for one measurement; without a measurement, release all limits."""
        if self._mode is EnforceMode.OFF:
            return Enforced()
        if node is None:
            return Enforced(released=self.release())
        state = self._state(node, processors)
        plan = plan_limits(state, self._rules)
        if self._mode is EnforceMode.DRY_RUN:
            return Enforced(self._different(plan), plan.evicted)
        changes = tuple(each for each in plan.changes if self._files.apply(each))
        wanted = {(state.tree, kind) for kind in (LimitKind.CPUS, LimitKind.QUOTA)}
        wanted |= {(pod.cgroup, LimitKind.MEMORY) for pod in state.pods}
        released = self._files.keep_only(wanted)
        scores = sum(self._raise_scores(pod) for pod in state.pods)
        reason = f"the node uses more than {self._rules.evict_percent} % of its memory"
        gone = tuple(uid for uid in plan.evicted if evict(uid, reason))
        return Enforced(changes, gone, scores, released)

    def _different(self, plan: LimitPlan) -> tuple[LimitChange, ...]:
        """Changes that would modify a file."""
        return tuple(
            each
            for each in plan.changes
            if self._files.read(each.cgroup, each.kind) not in (None, each.value)
        )

    def _state(self, node: NodeMeasurement, processors: ProcessorFacts) -> LimitState:
        """Measurements of the node that the plan needs."""
        cgroups = pod_cgroups(self._root)
        use, owned, pods = node.use, 0.0, list[LimitedPod]()
        for uid, each in use.pods.items():
            pod = node.pods.get(uid)
            if pod is None or pod.level != RECLAIMED_CORES:
                owned += each.cpu
            elif uid in cgroups:
                cgroup = str(cgroups[uid].relative_to(self._root))
                pods.append(LimitedPod(uid, cgroup, each.memory, pod.priority, pod.is_ending))
        tree = next((f"{CGROUPS}/{t}" for t in TREES if (self._root / CGROUPS / t).is_dir()), "")
        cores = use.cpu, sum(each.cpu for each in use.pods.values()), owned
        return LimitState(
            tuple(Processor(c.number, c.core, c.socket, c.numa) for c in processors.cpus),
            processors.memory,
            cores,
            use.memory,
            tuple(pods),
            tree,
            self._present(tree),
        )

    def _present(self, tree: str) -> Mapping[LimitKind, str]:
        """Contents of the limit files of the tree."""
        found = {kind: self._files.read(tree, kind) for kind in LimitKind} if tree else {}
        return {kind: text for kind, text in found.items() if text is not None}

    def _raise_scores(self, pod: LimitedPod) -> int:
        """Raise the OOM score of the processes of a pod; skip processes that have ended."""
        count = 0
        for folder in (self._root / pod.cgroup).rglob("cgroup.procs"):
            for process in (read_text(folder) or "").split():
                path = self._root / "proc" / process / "oom_score_adj"
                if process.isdigit() and (read_text(path) or str(OOM_SCORE)) != str(OOM_SCORE):
                    count += _write(path, str(OOM_SCORE))
        return count


def _write(path: Path, text: str) -> bool:
    try:
        with path.open("r+", encoding="utf-8") as file:
            file.write(text)
            file.truncate()
    except OSError:
        return False
    return True
