"""Make the figures of the one-pool scenario from the published traces.

    python scripts/make_one_pool_figures.py DATA_FOLDER

DATA_FOLDER contains ``azure_vm_2017/azure_vm_2017_24h.csv.gz`` and ``philly_vc/philly_vc_*.csv``.
The Azure day is reduced to counts of VMs by five-minute bin, size and lifetime bin; each Philly
cluster to the jobs of the eight days with the most GPU time.
"""

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

from stretto.inputs.traces.azure_vm import load_vms
from stretto.inputs.traces.one_pool import FIGURES_FILE
from stretto.inputs.traces.philly import load_jobs

DAY_S, BIN_S, DAYS = 86_400, 300, 8
SOURCE = (
    "Azure/AzurePublicDataset V1 (2017), 24 h as decoded in huaweicloud/trace_generation_rnn "
    "@fa856db; msr-fiddle/philly-traces as in abdullahfsm/PCS @62a6ca3"
)
LICENCE = (
    "CC-BY-4.0 (Microsoft Azure; Cortez et al., SOSP 2017; Jeon et al., ATC 2019); "
    "PCS: MIT, (c) 2024 Abdullah Bin Faisal. Changed: counted, and cut to days."
)


def azure(path: Path) -> dict[str, object]:
    """Shapes, lifetimes, and by bin: (shape, lifetime, count) one after another."""
    vms = load_vms(path)
    shapes = sorted({(vm.vcpu, vm.memory_mib) for vm in vms})
    lives = sorted({(vm.duration_min_s + vm.duration_max_s) / 2 for vm in vms})
    bins: list[Counter[tuple[int, int]]] = [Counter() for _ in range(DAY_S // BIN_S)]
    for vm in vms:
        life = (vm.duration_min_s + vm.duration_max_s) / 2
        place = (shapes.index((vm.vcpu, vm.memory_mib)), lives.index(life))
        bins[int(vm.arrival_s // BIN_S)][place] += 1
    flat = [[n for key, count in sorted(b.items()) for n in (*key, count)] for b in bins]
    return {"shapes": shapes, "lifetimes_s": lives, "bins": flat}


def philly(path: Path) -> list[list[list[int]]]:
    """The busiest days: [second of the day, GPUs, seconds] of each job."""
    days: dict[int, list[list[int]]] = defaultdict(list)
    for job in load_jobs(path):
        day, second = divmod(int(job.submit_s), DAY_S)
        days[day].append([second, job.gpus, round(job.duration_s)])
    work = {
        day: sum(gpus * min(DAY_S, seconds) for _, gpus, seconds in jobs)
        for day, jobs in days.items()
    }
    busiest = sorted(work, key=lambda day: (-work[day], day))[:DAYS]
    return [sorted(days[day]) for day in busiest]


def main() -> None:
    """Read, count and write."""
    data = Path(sys.argv[1])
    figures = {
        "source": SOURCE,
        "licence": LICENCE,
        "vms": azure(data / "azure_vm_2017" / "azure_vm_2017_24h.csv.gz"),
        "jobs": {
            path.stem.removeprefix("philly_vc_"): philly(path)
            for path in sorted((data / "philly_vc").glob("philly_vc_*.csv"))
        },
    }
    target = Path(__file__).resolve().parents[1] / "src" / "stretto" / "inputs" / FIGURES_FILE
    text = json.dumps(figures, separators=(",", ":")).replace("],[", "],\n[")
    target.write_text(text + "\n")
    print(f"{target.name}: {len(text):,} characters")


if __name__ == "__main__":
    main()
