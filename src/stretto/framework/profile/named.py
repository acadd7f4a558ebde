"""The named profiles, in the form in which a file would give them."""

from collections.abc import Mapping
from typing import Any, Final

from stretto.base.registry import Registry
from stretto.framework.plugins.fit import NodeResourcesFitRule
from stretto.framework.plugins.gpu_policies import (
    BestFitRule,
    DotProdRule,
    FgdRule,
    GpuClusteringRule,
    GpuPackingRule,
    RandomRule,
)


def _policy(name: str, ties: str, devices: str) -> dict[str, Any]:
    """Create a profile that scores by one policy only."""
    score = {"disabled": [{"name": "*"}], "enabled": [{"name": name, "weight": 1}]}
    own = {"tieRule": ties, "devicePick": devices}
    return {"profiles": [{"plugins": {"score": score}, "stretto": own}]}


PROFILES: Final[Registry[Mapping[str, Any]]] = Registry(
    "profile",
    {
        "default": {},
        "packing": {
            "profiles": [
                {
                    "pluginConfig": [
                        {
                            "name": NodeResourcesFitRule.NAME,
                            "args": {"scoringStrategy": {"type": "MostAllocated"}},
                        }
                    ]
                }
            ]
        },
        "kube-parity": {"profiles": [{"stretto": {"rules": "exact", "tieRule": "name"}}]},
        "fgd": _policy(FgdRule.NAME, "order", "scored"),
        "best-fit": _policy(BestFitRule.NAME, "order", "fullest"),
        "dot-prod": _policy(DotProdRule.NAME, "order", "fullest"),
        "gpu-packing": _policy(GpuPackingRule.NAME, "order", "fullest"),
        "gpu-clustering": _policy(GpuClusteringRule.NAME, "order", "fullest"),
        "random": _policy(RandomRule.NAME, "random", "random"),
    },
)
"""Profiles by name."""

SENTENCES: Final[Mapping[str, str]] = {
    "default": "Spreads pods over free nodes, with the rules of kube-scheduler.",
    "packing": "Fills nodes: the most allocated node first, with the rules of kube-scheduler.",
    "kube-parity": "Decides pod by pod as kube-scheduler does.",
    "fgd": "Fragmentation gradient descent: wastes the least GPU capacity for the typical pods.",
    "best-fit": "The node with the least CPU and GPU left over.",
    "dot-prod": "The node with the smallest dot product of requested and free amounts.",
    "gpu-packing": "GPUs in use first, then free GPUs of a node in use, then an idle node.",
    "gpu-clustering": "Nodes that run pods of the same form.",
    "random": "A random node that fits.",
}
"""Description of each profile in one sentence."""
