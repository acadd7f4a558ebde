"""The six GPU policies of the openb study (Weng et al., FGD, ATC 2023), as score rules.

Random takes any node; DotProd aligns what is free with what is asked; BestFit leaves little over;
GpuPacking uses GPUs in use first; GpuClustering keeps pods of one form together; FGD lets the least
GPU milli become useless for the typical pods. Formulas: ``framework/formulas_devices``. Which node
wins a tie and which GPU a pod gets belong to the policy too, and are set by the profile.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.framework.compiled import devices as formulas
from stretto.framework.compiled.devices import fgd_thresholds
from stretto.framework.compiled.tables import NOTHING, Code, CompiledScore, TypicalPods
from stretto.framework.compiled.typical import PodKind, weighted_pods
from stretto.framework.contract import arguments as read
from stretto.framework.contract.requests import devices_of, wanted_of
from stretto.framework.contract.rule import IntArray, Scope, ScoreRule, SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.rows.devices import MAX_DEVICES, WHOLE, Devices
from stretto.state.rows.resources import CPU, SCAN_LIMIT, Resources

LEARN: Final = "learn"
"""Value of ``typicalPods`` that takes them from what is running and pending."""


class _Policy(ScoreRule):
    """What the policies have in common: slot-local, and without arguments unless they say so."""

    SCOPE: ClassVar[Scope] = Scope.SLOT
    CODE: ClassVar[Code]

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Take no arguments."""
        super().__init__(args)
        read.arguments(args, (), self.NAME)

    def compiled(self, resources: Resources) -> CompiledScore:
        """The policy's code."""
        return CompiledScore(self.CODE)


class Random(_Policy):
    """Any feasible node: 0 everywhere, the profile's tie rule draws."""

    NAME: ClassVar[str] = "Random"

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: zeros."""
        return np.zeros(len(slots), np.int32)

    def compiled(self, resources: Resources) -> CompiledScore:
        """Nothing to compute."""
        return NOTHING


class DotProd(_Policy):
    """Nodes where little of what the pod asks is left over."""

    NAME: ClassVar[str] = "DotProd"
    CODE: ClassVar[Code] = Code.DOT_PROD

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: see ``formulas_devices.dot_prod``."""
        wanted = wanted_of(pod, view)
        gpu = formulas.free_milli(devices_of(view, slots), wanted.kind)
        return formulas.dot_prod(view.columns.free[CPU, slots], gpu, wanted)


class BestFit(_Policy):
    """Nodes with the least CPU and GPU left over."""

    NAME: ClassVar[str] = "BestFit"
    CODE: ClassVar[Code] = Code.BEST_FIT

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: see ``formulas_devices.best_fit``."""
        wanted = wanted_of(pod, view)
        gpu = formulas.free_milli(devices_of(view, slots), wanted.kind)
        return formulas.best_fit(view.columns.free[CPU, slots], gpu, wanted)


class GpuPacking(_Policy):
    """GPUs in use first, then free GPUs of a node in use, then an idle node."""

    NAME: ClassVar[str] = "GpuPacking"
    CODE: ClassVar[Code] = Code.GPU_PACKING

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: see ``formulas_devices.gpu_packing``; 0 for pods without GPU."""
        wanted = wanted_of(pod, view)
        if not wanted.number:
            return np.zeros(len(slots), np.int32)
        return formulas.gpu_packing(devices_of(view, slots), wanted)


class GpuClustering(_Policy):
    """Nodes that hold pods of the same form."""

    NAME: ClassVar[str] = "GpuClustering"
    CODE: ClassVar[Code] = Code.GPU_CLUSTERING

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: see ``formulas_devices.gpu_clustering``; 0 for pods without GPU."""
        wanted = wanted_of(pod, view)
        if not wanted.number:
            return np.zeros(len(slots), np.int32)
        gpu = formulas.free_milli(devices_of(view, slots), wanted.kind)
        return formulas.gpu_clustering(gpu, view.columns.census[slots], wanted)


class FGD(_Policy):
    """Nodes where placing the pod makes the least GPU milli useless for the typical pods."""

    NAME: ClassVar[str] = "FGD"
    CODE: ClassVar[Code] = Code.FGD

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Read ``typicalPods``: ``learn``, or [{cpu, count, milli, models, frequency}]."""
        super().__init__({})
        self.args = args
        given = read.arguments(args, ("typicalPods",), self.NAME)
        #: Typical kinds with their frequencies; ``None`` to learn them.
        self.kinds: tuple[tuple[PodKind, float], ...] | None = _kinds(
            given.get("typicalPods", LEARN)
        )

    def fixed(self, devices: Devices) -> TypicalPods | None:
        """The typical pods that the profile gives; ``None`` when they are to be learnt."""
        return None if self.kinds is None else weighted_pods(self.kinds, devices)

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: see ``formulas_devices.fgd``, against the view's typical pods."""
        devices, wanted = devices_of(view, slots), wanted_of(pod, view)
        cpu = view.columns.free[CPU, slots]
        answer = formulas.fgd(view.typical, cpu, devices, wanted, fgd_thresholds())
        return np.maximum(answer.score, 0)


def _kinds(value: Any) -> tuple[tuple[PodKind, float], ...] | None:
    """The typical kinds of the arguments."""
    where = f"args of {FGD.NAME}: typicalPods"
    if isinstance(value, str):
        read.one_of(value, (LEARN,), where)
        return None
    items = read.sequence(value, where)
    return tuple(_kind(item, f"{where}[{i}]") for i, item in enumerate(items))


def _kind(value: Any, where: str) -> tuple[PodKind, float]:
    """One typical kind with its frequency."""
    item = read.mapping(value, ("cpu", "count", "milli", "models", "frequency"), where)
    cpu = read.whole(item.get("cpu", 0), 0, SCAN_LIMIT, f"{where}.cpu")
    count = read.whole(item.get("count", 0), 0, MAX_DEVICES, f"{where}.count")
    least, usual = (1, WHOLE) if count else (0, 0)
    milli = read.whole(item.get("milli", usual), least, WHOLE, f"{where}.milli")
    models = read.sequence(item.get("models"), f"{where}.models")
    names = tuple(sorted({read.text(m, f"{where}.models[{i}]") for i, m in enumerate(models)}))
    frequency = read.number(item.get("frequency"), 0.0, 1e12, f"{where}.frequency")
    return PodKind(cpu, count, milli if count else 0, names), frequency
