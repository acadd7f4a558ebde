"""Make the series of measured CPU use that ship with the package.

    python scripts/make_measured_use.py NAB_FOLDER

NAB_FOLDER is a checkout of https://github.com/numenta/NAB at commit ea702d7. The CPU use of its ten
machines is kept in thousandths, and the requests of its load balancer as counts.
"""

import json
import sys
from pathlib import Path

from stretto.inputs.neutral.tables import read_table
from stretto.inputs.traces.measured_use import LAYOUT, SERIES_FILE

SOURCE = "Amazon CloudWatch, 14 days of 2014, as in numenta/NAB @ea702d7, data/realAWSCloudwatch"
CPU = ("ec2_cpu_utilization_", "rds_cpu_utilization_")
REQUESTS = "elb_request_count_"


def values(path: Path, scale: float) -> list[int]:
    """The values of one file, scaled and rounded."""
    return [round(value * scale) for value in read_table(path, LAYOUT).decimals("value", 0, 1e9)]


def main() -> None:
    """Read, round and write."""
    checkout = Path(sys.argv[1])
    folder = checkout / "data" / "realAWSCloudwatch"
    machines = sorted(path for prefix in CPU for path in folder.glob(f"{prefix}*.csv"))
    figures = {
        "source": SOURCE,
        "licence": "MIT. Changed: rounded, times dropped. "
        + " ".join((checkout / "LICENSE.txt").read_text().split()),
        "cpu": {path.stem.replace("_cpu_utilization_", "-"): values(path, 10) for path in machines},
        "requests": {
            path.stem.replace("_request_count_", "-"): values(path, 1)
            for path in sorted(folder.glob(f"{REQUESTS}*.csv"))
        },
    }
    target = Path(__file__).resolve().parents[1] / "src" / "stretto" / "inputs" / SERIES_FILE
    text = json.dumps(figures, separators=(",", ":")).replace("],", "],\n")
    target.write_text(text + "\n")
    print(f"{target.name}: {len(text):,} characters")


if __name__ == "__main__":
    main()
