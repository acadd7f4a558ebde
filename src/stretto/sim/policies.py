"""Policies by name, as profiles for a published protocol.

A policy is a named profile. A protocol also fixes the tie rule and the typical pods that
fragmentation is measured against.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from stretto.base.errors import UnknownNameError
from stretto.framework.compiled.ties import TieRule
from stretto.framework.compiled.typical import TypicalPod
from stretto.framework.plugins.gpu_policies import FgdRule
from stretto.framework.profile.profile import PROFILES, Profile, load_profile
from stretto.inputs.traces.openb.protocol import TypicalPodKinds

STUDY: Final = ("fgd", "best-fit", "dot-prod", "gpu-packing", "gpu-clustering", "random")
"""The policies of the published study, in the order of the tables."""


def check_policies(names: Sequence[str]) -> tuple[str, ...]:
    """Check the names of policies; return each once, in the given order.

    Raises:
        UnknownNameError: a policy does not exist; the message contains the nearest name.
    """
    for name in names:
        if name not in PROFILES:
            raise UnknownNameError("policy", name, PROFILES)
    return tuple(dict.fromkeys(names))


def policy_profile(name: str, ties: TieRule, typical: TypicalPodKinds | None = None) -> Profile:
    """The profile of a policy.

    Args:
        name: the policy.
        ties: rule that breaks ties; a policy with random ties keeps its rule.
        typical: workload for the measurement of fragmentation; by default it is observed.
    """
    check_policies([name])
    profile = load_profile(name)
    if profile.ties is not TieRule.RANDOM:
        profile = msgspec.structs.replace(profile, ties=ties)
    if typical is not None and profile.learns:
        rule = FgdRule({"typicalPods": _arguments(typical)})
        scores = tuple(
            (rule, weight) if isinstance(old, FgdRule) else (old, weight)
            for old, weight in profile.scores
        )
        profile = msgspec.structs.replace(profile, scores=scores)
    return profile


def kinds_of(typical: TypicalPodKinds) -> list[tuple[TypicalPod, float]]:
    """Typical pods in the framework's type, with their frequencies."""
    rows = zip(
        typical.cpu_milli.tolist(),
        typical.num_gpu.tolist(),
        typical.gpu_milli.tolist(),
        typical.models,
        typical.frequency.tolist(),
        strict=True,
    )
    return [
        (TypicalPod(cpu, count, milli, tuple(sorted(set(models)))), frequency)
        for cpu, count, milli, models, frequency in rows
    ]


def _arguments(typical: TypicalPodKinds) -> list[dict[str, Any]]:
    """Typical pods in the format of a profile."""
    return [
        {
            "cpu": kind.cpu,
            "count": kind.gpus,
            "milli": kind.milli,
            "models": list(kind.models),
            "frequency": frequency,
        }
        for kind, frequency in kinds_of(typical)
    ]
