"""Make src/stretto/inputs/data/openb.json from the upstream openb lists.

    python scripts/make_openb_figures.py FOLDER > openb.json

The folder is ``data/csv`` of the repository named below, at the commit named below.
"""

import sys
from pathlib import Path

import msgspec

from stretto.inputs.traces.openb.figures import OpenbFigures, count_nodes, count_pods
from stretto.inputs.traces.openb.reader import load_openb

NODES = "openb_node_list_gpu_node.csv"
PODS = "openb_pod_list_default.csv"


def make(folder: Path) -> str:
    """The text of the figures file."""
    fleet = load_openb(folder / NODES, folder / PODS)
    figures = OpenbFigures(
        source=f"hkust-adsl/kubernetes-scheduler-simulator, data/csv/{NODES} and {PODS}",
        commit="8f3d6417353c5083c6d56617f255fadd8dc306bc",
        licence="Apache-2.0",
        citation=(
            "Weng et al., Beware of Fragmentation: Scheduling GPU-Sharing Workloads with "
            "Fragmentation Gradient Descent, USENIX ATC 2023"
        ),
        changes=(
            "Rows that are equal but for name, phase and times are counted: nodes are [count, "
            "cpu_milli, memory_mib, gpu, model], pods are [count, cpu_milli, memory_mib, num_gpu, "
            "gpu_milli, gpu_spec, qos]. Names, phases, times and order are dropped."
        ),
        nodes=count_nodes(fleet.nodes),
        pods=count_pods(fleet.pods),
    )
    head = msgspec.to_builtins(figures)
    parts = []
    for name, value in head.items():
        text = msgspec.json.encode(value).decode()
        if isinstance(value, (list, tuple)):
            rows = ",\n  ".join(msgspec.json.encode(row).decode() for row in value)
            text = f"[\n  {rows}\n ]"
        parts.append(f' "{name}": {text}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.stdout.write(make(Path(sys.argv[1])))
