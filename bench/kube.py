"""Measure Stretto and kube-scheduler, and record the figures with machine and commit.

    python bench/kube.py [--only TEXT] [--nodes N] [--rounds N]

The runs are those of ``bench/workloads/kube.yaml``, workload by workload. Results go to
``bench/results/kube-COMMIT.json`` after each run; after an interruption, the same command resumes.
A complete record also updates the table and the plot of ``docs/appendix/bench-kube.md``. The
machine should be idle: API server, etcd, scheduler and load generator share it.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from record import DOCS, commit, machine, source, store, table, write

from stretto.sim.plots.figures import Pictures
from stretto_lab.bench.kube.plot import WorkloadRates, rates_plot

HERE = Path(__file__).parent
WORKLOADS = "workloads"
"""The run of the plot; other runs are named after their options."""
COLUMNS = (
    "workload",
    "pods/s",
    "kube-scheduler",
    "ratio (goal)",
    "API ceiling",
    "share (goal)",
    "p50 / p99 s",
    "kube-scheduler, p50 / p99 s",
    "CPU us per pod, Stretto / kube-scheduler",
    "peak MB",
    "start to first binding, s",
)


def measure(options: dict[str, Any]) -> dict[str, Any]:
    """Execute one run."""
    words = [str(Path(sys.executable).parent / "stretto"), "bench", "kube", "--json", "-"]
    for key, value in options.items():
        words += [f"--{key}", str(value)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    results = {name: each for name, each in found.items() if isinstance(each, dict)}
    for result in results.values():
        for side in filter(None, (result["stretto"], result["kube-scheduler"])):
            del side["curve"]  # hundreds of points; ``stretto bench kube --out`` plots them
    return results


def pictures(record: dict[str, Any]) -> Pictures:
    """The plot of a record."""
    rates = {
        name: WorkloadRates(
            found["stretto"]["pods_per_s"],
            (found["kube-scheduler"] or {}).get("pods_per_s"),
            found["api_ceiling_per_s"],
        )
        for run in record["runs"]
        for name, found in run["result"].items()
        if run["name"] == WORKLOADS
    }
    return rates_plot(rates, source(record))


def shown(value: float | None, digits: int = 0) -> str:
    """A figure as text, or a dash for none."""
    return "-" if value is None else f"{value:,.{digits}f}"


def cells(run: dict[str, Any], name: str, found: dict[str, Any]) -> list[str]:
    """One row of the page's table."""
    ours, theirs = found["stretto"], found["kube-scheduler"] or {}
    goal = run.get("ratio", {}).get(name)
    label = name if run["name"] == WORKLOADS else f"{name}, {run['name']}"
    return [
        label,
        shown(ours["pods_per_s"]),
        shown(theirs.get("pods_per_s")),
        shown(found["ratio"], 2) + (f" ({goal})" if goal else ""),
        shown(found["api_ceiling_per_s"]),
        f"{shown(found['share_of_ceiling'], 2)} ({run['share']})",
        f"{shown(ours['p50_s'], 3)} / {shown(ours['p99_s'], 3)}",
        f"{shown(theirs.get('p50_s'), 3)} / {shown(theirs.get('p99_s'), 3)}",
        f"{shown(ours['cpu_us_per_pod'])} / {shown(theirs.get('cpu_us_per_pod'))}",
        shown(ours["rss_mb"]),
        shown(ours["start_to_first_binding_s"], 1),
    ]


def write_page(record: dict[str, Any]) -> None:
    """Write the table and the plot of the page."""
    host = record["machine"]
    where = f"{host['cores']} cores of {host['cpu']}, Python {host['python']}"
    about = f"Commit {record['commit']}, {where}, load {host['load_before']:.1f} before."
    rows = [
        cells(run, name, found) for run in record["runs"] for name, found in run["result"].items()
    ]
    write(DOCS / "appendix" / "bench-kube.md", "kube", [about, "", *table(COLUMNS, rows)])
    for name, content in pictures(record).items():
        (DOCS / "images" / name).write_bytes(content)


def begun(every: list[dict[str, Any]]) -> dict[str, Any]:
    """The record of this commit so far."""
    target = HERE / "results" / f"kube-{commit()}.json"
    if target.exists():
        found: dict[str, Any] = json.loads(target.read_text())
        return found
    runs = [{**run, "result": {}} for run in every]
    return {"commit": commit(), "machine": machine(), "runs": runs}


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only runs whose names contain this")
    parser.add_argument(
        "--nodes", type=int, help="nodes instead of those of each run; the page is not written"
    )
    parser.add_argument("--rounds", type=int, help="rounds instead of those of each run")
    arguments = parser.parse_args()
    given = {"nodes": arguments.nodes, "rounds": arguments.rounds}
    instead = {key: value for key, value in given.items() if value}
    record = begun(yaml.safe_load((HERE / "workloads" / "kube.yaml").read_text()))
    for run in record["runs"]:
        options = {**run["options"], **instead}
        names = [] if arguments.only not in run["name"] else options["workload"].split(",")
        for name in names:
            if name not in run["result"]:
                run["result"] |= measure({**options, "workload": name})
                store("kube", record)
    if not arguments.only and not arguments.nodes:
        write_page(record)


if __name__ == "__main__":
    main()
