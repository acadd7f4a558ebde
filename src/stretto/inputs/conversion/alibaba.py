"""Devices in the YAML form of the GPU trace of 2023, translated to Stretto's and NVIDIA's names.

The nodes and pods of ``cluster-trace-gpu-v2023`` describe GPUs in resources, labels and annotations
under ``alibabacloud.com/``; ``gpu-milli`` of a pod is the part of each GPU in thousandths.
"""

from typing import Any, Final

from stretto.api.wire.kinds import NODE, POD, Kind
from stretto.inputs.neutral.fleet import WHOLE_GPU
from stretto.inputs.objects.objects import GPU, GPU_MILLI, GPU_MODEL_LABEL, GPU_MODELS

COUNT: Final = "alibabacloud.com/gpu-count"
"""Resource of a node and annotation of a pod: the number of GPUs."""
MILLI: Final = "alibabacloud.com/gpu-milli"
"""Annotation of a pod: thousandths of each GPU."""
MODEL: Final = "alibabacloud.com/gpu-card-model"
"""Label of a node: the model of its GPUs; annotation of a pod: allowed models, joined by ``|``."""

_Body = dict[str, Any]


def translated(kind: Kind, body: _Body) -> _Body:
    """A node or pod with its GPUs in Stretto's form; other objects are unchanged."""
    if kind is NODE:
        _translate_node(body)
    elif kind is POD and COUNT in (body["metadata"].get("annotations") or {}):
        _translate_pod(body)
    return body


def _translate_node(node: _Body) -> None:
    labels = node["metadata"].get("labels") or {}
    for amounts in (node.get("status") or {}).values():
        if isinstance(amounts, dict) and COUNT in amounts:
            amounts.setdefault(GPU, str(amounts[COUNT]))
            if MODEL in labels:
                labels.setdefault(GPU_MODEL_LABEL, labels[MODEL])


def _translate_pod(pod: _Body) -> None:
    notes = pod["metadata"]["annotations"]
    count, milli = str(notes[COUNT]), str(notes.get(MILLI, WHOLE_GPU))
    if not count.isdecimal() or not int(count):
        return
    for container in (pod.get("spec") or {}).get("containers", [])[:1]:
        resources = container.setdefault("resources", {})
        for part in ("requests", "limits"):
            resources.setdefault(part, {}).setdefault(GPU, count)
    if milli.isdecimal() and 0 < int(milli) < WHOLE_GPU:
        notes.setdefault(GPU_MILLI, milli)
    if notes.get(MODEL):
        notes.setdefault(GPU_MODELS, notes[MODEL])
