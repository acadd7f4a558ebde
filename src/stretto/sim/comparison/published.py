"""The published curves of the openb study, and the differences of our results from them."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from stretto.base.errors import InputError
from stretto.inputs.neutral.tables import CsvLayout, CsvTable, read_table

LAYOUT: Final = CsvLayout(
    ("workload", "policy", "metric", "arrive_pct", "mean"), ("n_seeds", "sd", "min", "max")
)
"""Columns of the file."""
NAMES: Final = {
    "FGD": "fgd",
    "BestFit": "best-fit",
    "DotProd": "dot-prod",
    "GpuPacking": "gpu-packing",
    "GpuClustering": "gpu-clustering",
    "Random": "random",
}
"""Names of the policies in the study, and in this project."""
METRICS: Final = ("alloc_pct", "frag_pct_of_cluster", "frag_pct_of_idle")
"""Metrics in the file."""
_WORKLOAD: Final = re.compile(r"openb_pod_list_(\w+)\.csv(?:\.gz)?", re.ASCII)

Curves = dict[str, dict[str, dict[int, float]]]
"""Policy to metric to percent of arrival to mean."""


def read_published(path: Path, workload: str) -> Curves:
    """The published curves of one pod list.

    Raises:
        InputError: the file cannot be read, or lacks that list.
    """
    table = read_table(path, LAYOUT)
    workloads, policies = table.texts("workload"), table.texts("policy")
    metrics, percents = table.texts("metric"), table.integers("arrive_pct", 0, 1000)
    means = table.decimals("mean", 0, 1e9)
    _check(table, "policy", policies, tuple(NAMES))
    _check(table, "metric", metrics, METRICS)
    curves: Curves = {}
    for row, name in enumerate(workloads):
        if name == workload:
            metric = curves.setdefault(NAMES[policies[row]], {}).setdefault(metrics[row], {})
            metric[percents[row]] = means[row]
    if not curves:
        known = ", ".join(sorted(set(workloads)))
        raise InputError(str(path), workload, f"a pod list of the file ({known})")
    return curves


def workload_of(path: Path) -> str:
    """The study's name of a pod list, from the name of its file; else ``default``."""
    found = _WORKLOAD.fullmatch(path.name)
    return found[1] if found else "default"


def _check(table: CsvTable, column: str, cells: Sequence[str], known: Sequence[str]) -> None:
    """Refuse an unknown value in a column."""
    for cell in dict.fromkeys(cells):
        if cell not in known:
            table.refuse(list(cells).index(cell), column, f"one of {', '.join(known)}")
