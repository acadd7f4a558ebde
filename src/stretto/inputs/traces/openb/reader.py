"""The openb trace: node and pod lists of a production GPU cluster (Weng et al., ATC 2023).

A node list has five columns; a pod list has eleven, or the first five only, in any order. Every
value is checked: bounds, rules of GPU shares, times, duplicate names, models that no node has.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from stretto.base.errors import InputError, did_you_mean
from stretto.inputs.neutral.fleet import (
    MAX_CPU_MILLI,
    MAX_GPUS,
    MAX_MEMORY_MIB,
    WHOLE_GPU,
    Fleet,
    FleetNode,
    FleetPod,
)
from stretto.inputs.neutral.tables import FIX_ROW, CsvLayout, CsvTable, read_table

NODE_LAYOUT: Final = CsvLayout(("sn", "cpu_milli", "memory_mib", "gpu", "model"))
"""Columns of a node list."""
POD_LAYOUT: Final = CsvLayout(
    ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"),
    ("gpu_spec", "qos", "pod_phase", "creation_time", "deletion_time", "scheduled_time"),
)
"""Columns of a pod list; the short form has only the required ones."""
MODEL_SEPARATOR: Final = "|"
"""Separator of the models that a pod may use."""
_MAX_TIME_S: Final = 10**10
"""Three centuries: a larger time is in milliseconds."""
_MILLI: Final = f"an integer 1..{WHOLE_GPU}"
_WORD: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)
_NO_EXTRA: Final[dict[str, str]] = {}


class OpenbNodes(msgspec.Struct, frozen=True, kw_only=True):
    """A fleet in openb format."""

    #: The CSV file of nodes, relative to the scenario.
    nodes: str


class OpenbPods(msgspec.Struct, frozen=True, kw_only=True):
    """A workload in openb format."""

    #: The CSV file of pods, relative to the scenario.
    pods: str


def load_openb(nodes: Path, pods: Path) -> Fleet:
    """The fleet of a node list and a pod list."""
    machines = load_nodes(nodes)
    work = load_pods(pods, {node.gpu_model for node in machines if node.gpu_model})
    return Fleet(machines, work, f"{nodes.name}, {pods.name} (openb format)")


def load_nodes(path: Path) -> tuple[FleetNode, ...]:
    """The nodes of a node list, in its order; an empty list is refused."""
    table = read_table(path, NODE_LAYOUT)
    names = table.names("sn")
    cpus = table.integers("cpu_milli", 1, MAX_CPU_MILLI)
    memories = table.integers("memory_mib", 1, MAX_MEMORY_MIB)
    gpus = table.integers("gpu", 0, MAX_GPUS)
    models = table.texts("model")
    if not names:
        raise InputError(f"{path}, line 2", None, "at least one node", "add a row")
    for row, (count, model) in enumerate(zip(gpus, models, strict=True)):
        if count and not _is_model(model):
            table.refuse(row, "model", "the model of the node's GPUs")
        if model and not count:
            table.refuse(row, "model", "no model, since the node has no GPU")
    rows = zip(names, cpus, memories, gpus, models, strict=True)
    return tuple(FleetNode(*row) for row in rows)


def load_pods(path: Path, models: set[str] | None = None) -> tuple[FleetPod, ...]:
    """The pods of a pod list, in its order.

    ``models`` are the GPU models of the fleet; a pod with another model is refused. ``None`` skips
    this check.
    """
    table = read_table(path, POD_LAYOUT)
    table.some("pod")
    requests = zip(
        table.names("name"),
        table.integers("cpu_milli", 0, MAX_CPU_MILLI),
        table.integers("memory_mib", 0, MAX_MEMORY_MIB),
        table.integers("num_gpu", 0, MAX_GPUS),
        table.integers("gpu_milli", 0, WHOLE_GPU, _MILLI),
        strict=True,
    )
    texts = table.texts("gpu_spec")
    allowed = {text: _models(table, text, models) for text in dict.fromkeys(texts)}
    specs = [allowed[text] for text in texts]
    rest = zip(specs, _classes(table), _times(table), _extras(table), strict=True)
    pods = []
    for row, (request, (spec, qos, (start, end), extra)) in enumerate(
        zip(requests, rest, strict=True)
    ):
        if request[4] != WHOLE_GPU or request[3] == 0:
            _check_gpus(table, row, (request[3], request[4]), spec)
        pods.append(FleetPod(*request, spec, qos, start, end, extra=extra))
    return tuple(pods)


def _check_gpus(table: CsvTable, row: int, gpus: tuple[int, int], spec: tuple[str, ...]) -> None:
    """Refuse an inconsistent GPU request."""
    count, milli = gpus
    if count == 0 and milli:
        table.refuse(row, "gpu_milli", "0, since num_gpu is 0")
    if count == 0 and spec:
        table.refuse(row, "gpu_spec", "no model, since num_gpu is 0")
    if count == 1 and not milli:
        table.refuse(row, "gpu_milli", _MILLI)
    if count > 1 and milli != WHOLE_GPU:
        table.refuse(row, "gpu_milli", f"{WHOLE_GPU}, since only a pod with num_gpu 1 may share")


def _models(table: CsvTable, spec: str, models: set[str] | None) -> tuple[str, ...]:
    """The models of a ``gpu_spec`` (real lists repeat some), all of them known."""
    if not spec:
        return ()
    names = tuple(spec.split(MODEL_SEPARATOR))
    row = table.texts("gpu_spec").index(spec)
    if not all(map(_is_model, names)):
        table.refuse(row, "gpu_spec", f"GPU models joined by {MODEL_SEPARATOR!r}")
    for name in names:
        if models is not None and name not in models:
            known = ", ".join(sorted(models)) or "none"
            hint = did_you_mean(name, models, FIX_ROW)
            table.refuse(row, "gpu_spec", f"GPU models of the fleet ({known})", hint)
    return names


def _classes(table: CsvTable) -> Sequence[str]:
    """The quality of service of each pod: values that are valid in a label."""
    cells = table.texts("qos")
    for word in dict.fromkeys(cells):
        if word and not _WORD.fullmatch(word):
            table.refuse(cells.index(word), "qos", "a word such as LS or BE")
    return cells


def _is_model(name: str) -> bool:
    """True if a GPU model is a valid label value."""
    return _WORD.fullmatch(name) is not None


def _times(table: CsvTable) -> Iterator[tuple[float | None, float | None]]:
    """(creation, deletion) time of each pod; ``None`` for a list without times."""
    if not table.has("creation_time") and not table.has("deletion_time"):
        yield from [(None, None)] * table.count
        return
    for column in ("creation_time", "deletion_time"):
        if not table.has(column):
            missing = f"the missing column {column}"
            raise InputError(table.where(-1), None, missing, "add the column")
    starts = table.integers("creation_time", 0, _MAX_TIME_S)
    ends = table.integers("deletion_time", 0, _MAX_TIME_S)
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if end < start:
            table.refuse(row, "deletion_time", f"a time not before creation_time {start}")
        yield float(start), float(end)


def _extras(table: CsvTable) -> Sequence[dict[str, str]]:
    """Further values of each pod."""
    columns = [name for name in ("pod_phase", "scheduled_time") if table.has(name)]
    if not columns:
        return [_NO_EXTRA] * table.count
    cells = zip(*(table.texts(name) for name in columns), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in cells]
