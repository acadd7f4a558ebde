"""Measure the cost of a pod over the number of nodes, of classes and of pending pods.

    python bench/curves.py [--only nodes|classes|pending] [--pods N]

Each point is the engine benchmark in a separate process, without the latency pass. The figure is
the CPU time per pod from JSON to the bind, which other processes disturb less than wall time.
Results go to ``bench/results/curves-COMMIT.json``, into the table of ``docs/performance.md`` and
into its plot.
"""

import argparse
import json
from typing import Any

from record import DOCS, HERE, PERFORMANCE, commit, machine, measure, source, store, write

from stretto.explain.records.curves import PlotLine, PlotTexts
from stretto.sim.plots.figures import Pictures, draw_curves

PLAIN = {"nodes": 20_000, "running": 200_000, "classes": 200, "rate": 0, "rounds": 3}
CURVES: dict[str, tuple[int, ...]] = {
    "nodes": (5_000, 10_000, 20_000, 50_000, 100_000),
    "classes": (1, 10, 100, 1_000, 5_000),
    "pending": (0, 1_000, 10_000, 100_000, 1_000_000),
}


WORDS = {"nodes": "nodes", "classes": "classes", "pending": "pending pods"}
"""Label of the horizontal axis of each curve."""


def point(curve: str, value: int, pods: int) -> dict[str, Any]:
    """One point of a curve; there are ten running pods per node."""
    options = {**PLAIN, "pods": pods, curve: value}
    if curve == "nodes":
        options["running"] = 10 * value
    found = measure(options)
    return {
        "value": value,
        "cpu_us_per_pod": found["cpu_us_per_pod"],
        "kernel_us_per_pod": found["kernel_us_per_pod"],
        "pods_per_s": found["end_to_end_per_s"],
        "rss_mb": found["rss_mb"],
    }


def table(record: dict[str, Any]) -> list[str]:
    """The points as rows of a table."""
    host = record["machine"]
    rows = [
        f"Commit {record['commit']}, {host['cores']} cores of {host['cpu']}.",
        "",
        "| over | value | CPU us a pod | of it in the kernel | peak MB |",
        "| --- | --- | --- | --- | --- |",
    ]
    for curve, points in record["curves"].items():
        rows += [
            f"| {curve} | {each['value']:,} | {each['cpu_us_per_pod']:.1f} | "
            f"{each['kernel_us_per_pod']:.1f} | {each['rss_mb']:,.0f} |"
            for each in points
        ]
    return rows


def pictures(record: dict[str, Any]) -> Pictures:
    """The plots of a record by file name."""
    found: Pictures = {}
    for curve, points in record["curves"].items():
        at = [max(1, each["value"]) for each in points]
        lines = [
            PlotLine("whole way", at, [each["cpu_us_per_pod"] for each in points]),
            PlotLine("kernel", at, [each["kernel_us_per_pod"] for each in points], colour=1),
        ]
        low, high = points[0], points[-1]
        title = (
            f"A pod costs {low['cpu_us_per_pod']:.0f} us with {low['value']:,} {WORDS[curve]} "
            f"and {high['cpu_us_per_pod']:.0f} us with {high['value']:,}"
        )
        texts = PlotTexts(
            title,
            WORDS[curve],
            "CPU time of a pod in microseconds",
            log_x=True,
            from_0=True,
            note=source(record),
        )
        found |= draw_curves(f"curve-{curve}", lines, texts)
    return found


def write_page(record: dict[str, Any]) -> None:
    """Write the figures into the page on performance, and draw the plots."""
    write(PERFORMANCE, "curves", table(record))
    for name, content in pictures(record).items():
        (DOCS / "images" / name).write_bytes(content)


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", choices=["", *CURVES])
    parser.add_argument("--pods", type=int, default=20_000)
    options = parser.parse_args()
    target = HERE / "results" / f"curves-{commit()}.json"
    record: dict[str, Any] = {"commit": commit(), "machine": machine(), "curves": {}}
    if target.exists():
        record = json.loads(target.read_text())
    for curve, values in CURVES.items():
        if options.only in ("", curve):
            record["curves"][curve] = [point(curve, value, options.pods) for value in values]
            print(curve, record["curves"][curve], flush=True)
            store("curves", record)
    if len(record["curves"]) == len(CURVES):
        write_page(record)


if __name__ == "__main__":
    main()
