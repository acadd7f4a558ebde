"""Run the workloads of the engine benchmark and record the figures with machine and commit.

    python bench/record.py [--only TEXT] [--nodes N --running N]

Each workload runs in a separate process, because peak memory is measured per process. Results go to
``bench/results/engine-COMMIT.json``. Machines are noisy: use the medians, and compare CPU time with
wall time.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
COLUMNS = (
    "workload",
    "pods/s (goal, floor)",
    "CPU us",
    "kernel us",
    "decoder alone",
    "p50 / p99 ms at 10,000/s",
    "peak MB",
    "conflicts",
    "equal",
)
DOCS = HERE.parent / "docs"
PERFORMANCE = DOCS / "performance.md"


def machine() -> dict[str, Any]:
    """The machine of the measurement."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
    }


def commit() -> str:
    """The measured commit, marked if the working tree differs."""
    git = ["git", "-C", str(HERE.parent)]
    words = [*git, "describe", "--always"]
    found = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    words = [*git, "diff", "--quiet", "HEAD", "--", ".", ":!docs", ":!bench/results"]
    return found + "-dirty" * subprocess.run(words, check=False).returncode


def source(record: dict[str, Any]) -> str:
    """Commit and machine of a record, as the note of its plots."""
    host = record["machine"]
    return f"Commit {record['commit']}, {host['cores']} cores of {host['cpu']}."


def store(name: str, record: dict[str, Any]) -> None:
    """Store the figures under the measured commit."""
    target = HERE / "results" / f"{name}-{record['commit']}.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(record, indent=1) + "\n")
    print(f"recorded in {target.relative_to(HERE.parent)}")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Replace the lines of a table in a page."""
    lines = [columns, ["---"] * len(columns), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def write(page: Path, mark: str, lines: list[str]) -> None:
    """Replace the lines between the marks of a page."""
    start, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    head, found, rest = page.read_text().partition(start)
    if not found:
        sys.exit(f"{page} has no {start}")
    page.write_text(head + start + "\n" + "\n".join(lines) + "\n" + end + rest.partition(end)[2])


def measure(options: dict[str, Any]) -> dict[str, Any]:
    """Run one workload in a new process."""
    with tempfile.TemporaryDirectory() as scratch:
        words = [
            str(Path(sys.executable).parent / "stretto"),
            "-q",
            "bench",
            "engine",
            "--json",
            "-",
        ]
        for key, value in options.items():
            given = [] if value is True else [str(value).format(scratch=scratch)]
            words += [f"--{key}", *given]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def cells(workload: dict[str, Any]) -> list[str]:
    """One row of the page's table."""
    found = workload["result"]
    bars = f" ({workload['goal']:,}, {workload['floor']:,})" if "goal" in workload else ""
    waits = f"{found['p50_ms']} / {found['p99_ms']}" if found["p50_ms"] is not None else "-"
    return [
        workload["name"],
        f"{found['end_to_end_per_s']:,.0f}{bars}",
        f"{found['cpu_us_per_pod']:.1f}",
        f"{found['kernel_us_per_pod']:.1f}",
        f"{found['decode_only_per_s']:,.0f}",
        waits,
        f"{found['rss_mb']:,.0f}",
        f"{found['conflicts']:.2%}",
        "yes" if found["equal_to_reference"] else "NO",
    ]


def write_page(record: dict[str, Any]) -> None:
    """Write the figures into the page on performance."""
    host = record["machine"]
    machine = (
        f"Commit {record['commit']}, {host['cores']} cores of {host['cpu']}, "
        f"Python {host['python']}, NumPy {host['numpy']}, numba {host['numba']}, "
        f"load {host['load_before']:.1f} at the end."
    )
    rows = [cells(each) for each in record["workloads"]]
    write(PERFORMANCE, "engine", [machine, "", *table(COLUMNS, rows)])


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only workloads whose names contain this")
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--running", type=int, default=1_000_000)
    parser.add_argument("--pods", type=int, default=50_000)
    options = parser.parse_args()
    scale = {"nodes": options.nodes, "running": options.running, "pods": options.pods}
    found = []
    for workload in yaml.safe_load((HERE / "workloads" / "engine.yaml").read_text()):
        if options.only not in workload["name"]:
            continue
        result = measure({**scale, **workload["options"]})
        found.append({"name": workload["name"], **workload, "result": result})
        print(
            f"{workload['name']:40} {result['end_to_end_per_s']:>10,.0f} pods/s  "
            f"{result['kernel_us_per_pod']:>7.2f} us kernel  p99 {result['p99_ms']} ms  "
            f"{result['rss_mb']:,.0f} MB  conflicts {result['conflicts']:.2%}"
        )
    record = {"commit": commit(), "machine": machine(), "workloads": found}
    store("engine", record)
    if not options.only:
        write_page(record)


if __name__ == "__main__":
    main()
