"""The six GPU policies of the openb study (Weng et al., FGD, ATC 2023), as score rules.

Random selects any node; DotProd aligns free with requested amounts; BestFit leaves the least free
amounts; GpuPacking uses GPUs in use first; GpuClustering places pods of one form together; FGD
minimizes the GPU milli that become useless for the typical pods. Formulas:
``framework.compiled.devices``. A policy also includes a tie rule and a device pick; the profile
sets both.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.framework.compiled import devices as formulas
from stretto.framework.compiled.devices import fgd_thresholds
from stretto.framework.compiled.tables import NOTHING, CompiledScore, ScoreCode, TypicalPodTable
from stretto.framework.compiled.typical import TypicalPod, weighted_pods
from stretto.framework.contract import arguments as read
from stretto.framework.contract.requests import devices_of, wanted_of
from stretto.framework.contract.rule import IntArray, Scope, ScoreRule, SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.rows.devices import MAX_DEVICES, WHOLE, DeviceColumns
from stretto.state.rows.resources import CPU, SCAN_LIMIT, ResourceColumns

LEARN: Final = "learn"
"""Value of ``typicalPods`` that derives them from running and pending pods."""


class _GpuPolicyRule(ScoreRule):
    """Base of the policies: slot-local, and without arguments by default."""

    SCOPE: ClassVar[Scope] = Scope.SLOT
    CODE: ClassVar[ScoreCode]

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Accept no arguments."""
        super().__init__(args)
        read.arguments(args, (), self.NAME)

    def compiled(self, resources: ResourceColumns) -> CompiledScore:
        """Compiled score of the policy."""
        return CompiledScore(self.CODE)


class RandomRule(_GpuPolicyRule):
    """Any feasible node: 0 everywhere, the profile's tie rule draws."""

    NAME: ClassVar[str] = "Random"

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: zeros."""
        return np.zeros(len(slots), np.int32)

    def compiled(self, resources: ResourceColumns) -> CompiledScore:
        """Compiled score that is 0 everywhere."""
        return NOTHING


class DotProdRule(_GpuPolicyRule):
    """Nodes where few of the requested resources are left over."""

    NAME: ClassVar[str] = "DotProd"
    CODE: ClassVar[ScoreCode] = ScoreCode.DOT_PROD

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: see ``compiled.devices.dot_prod``."""
        wanted = wanted_of(pod, view)
        gpu = formulas.free_milli(devices_of(view, slots), wanted.kind)
        return formulas.dot_prod(view.columns.free[CPU, slots], gpu, wanted)


class BestFitRule(_GpuPolicyRule):
    """Nodes with the least CPU and GPU left over."""

    NAME: ClassVar[str] = "BestFit"
    CODE: ClassVar[ScoreCode] = ScoreCode.BEST_FIT

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: see ``compiled.devices.best_fit``."""
        wanted = wanted_of(pod, view)
        gpu = formulas.free_milli(devices_of(view, slots), wanted.kind)
        return formulas.best_fit(view.columns.free[CPU, slots], gpu, wanted)


class GpuPackingRule(_GpuPolicyRule):
    """GPUs in use first, then free GPUs of a node in use, then an idle node."""

    NAME: ClassVar[str] = "GpuPacking"
    CODE: ClassVar[ScoreCode] = ScoreCode.GPU_PACKING

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: see ``compiled.devices.gpu_packing``; 0 for pods without GPU."""
        wanted = wanted_of(pod, view)
        if not wanted.number:
            return np.zeros(len(slots), np.int32)
        return formulas.gpu_packing(devices_of(view, slots), wanted)


class GpuClusteringRule(_GpuPolicyRule):
    """Nodes that hold pods of the same form."""

    NAME: ClassVar[str] = "GpuClustering"
    CODE: ClassVar[ScoreCode] = ScoreCode.GPU_CLUSTERING

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: see ``compiled.devices.gpu_clustering``; 0 for pods without GPU."""
        wanted = wanted_of(pod, view)
        if not wanted.number:
            return np.zeros(len(slots), np.int32)
        gpu = formulas.free_milli(devices_of(view, slots), wanted.kind)
        return formulas.gpu_clustering(gpu, view.columns.census[slots], wanted)


class FgdRule(_GpuPolicyRule):
    """Nodes where placing the pod makes the least GPU milli useless for the typical pods."""

    NAME: ClassVar[str] = "FGD"
    CODE: ClassVar[ScoreCode] = ScoreCode.FGD

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Read ``typicalPods``: ``learn``, or [{cpu, count, milli, models, frequency}]."""
        super().__init__({})
        self.args = args
        given = read.arguments(args, ("typicalPods",), self.NAME)
        #: Typical kinds with their frequencies; ``None`` to learn them.
        self.kinds: tuple[tuple[TypicalPod, float], ...] | None = _kinds(
            given.get("typicalPods", LEARN)
        )

    def fixed(self, devices: DeviceColumns) -> TypicalPodTable | None:
        """Typical pods that the profile gives; ``None`` if they are learned."""
        return None if self.kinds is None else weighted_pods(self.kinds, devices)

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: see ``compiled.devices.fgd``, against the view's typical pods."""
        devices, wanted = devices_of(view, slots), wanted_of(pod, view)
        cpu = view.columns.free[CPU, slots]
        answer = formulas.fgd(view.typical, cpu, devices, wanted, fgd_thresholds())
        return np.maximum(answer.score, 0)


def _kinds(value: Any) -> tuple[tuple[TypicalPod, float], ...] | None:
    """Read the typical kinds of the arguments."""
    where = f"args of {FgdRule.NAME}: typicalPods"
    if isinstance(value, str):
        read.one_of(value, (LEARN,), where)
        return None
    items = read.sequence(value, where)
    return tuple(_kind(item, f"{where}[{i}]") for i, item in enumerate(items))


def _kind(value: Any, where: str) -> tuple[TypicalPod, float]:
    """Read one typical kind with its frequency."""
    item = read.mapping(value, ("cpu", "count", "milli", "models", "frequency"), where)
    cpu = read.whole(item.get("cpu", 0), 0, SCAN_LIMIT, f"{where}.cpu")
    count = read.whole(item.get("count", 0), 0, MAX_DEVICES, f"{where}.count")
    least, usual = (1, WHOLE) if count else (0, 0)
    milli = read.whole(item.get("milli", usual), least, WHOLE, f"{where}.milli")
    models = read.sequence(item.get("models"), f"{where}.models")
    names = tuple(sorted({read.text(m, f"{where}.models[{i}]") for i, m in enumerate(models)}))
    frequency = read.number(item.get("frequency"), 0.0, 1e12, f"{where}.frequency")
    return TypicalPod(cpu, count, milli if count else 0, names), frequency
