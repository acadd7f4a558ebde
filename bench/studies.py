"""Run the studies in virtual time and record them.

    python bench/studies.py [--only omega] [--data FOLDER] [--use FOLDER] [--memory FOLDER]

Writes their JSON to ``bench/results``, their plots to ``docs/images`` and the tables into the
documents. The forecasts need the Philly traces: ``--data FOLDER`` with ``philly_vc_*.csv``. The
estimators of memory need a month of GWA-T-12. The figures are in virtual time, so they are the same
on every machine.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from record import DOCS, HERE, PERFORMANCE, commit, write

SHOWN_MS = (1.0, 10.0, 100.0)
"""Decision times in the table of the shard study; the plots contain all."""


POOLS = {"0e4a51": 96, "ee9e8c": 224}
"""GPUs of the pool for each Philly cluster: 1.4 to 1.6 times its mean demand."""


def run(study: str, *more: str, name: str = "") -> dict[str, Any]:
    """Run one study; returns its JSON and stores its plots."""
    target = run_data(study, *more, "--out", str(DOCS / "images"), name=name)
    found: dict[str, Any] = json.loads(target.read_text())
    return found


def run_data(study: str, *more: str, name: str = "") -> Path:
    """Run one study without plots; returns the file of its JSON."""
    target = HERE / "results" / f"{name or study}-{commit()}.json"
    stretto = str(Path(sys.executable).parent / "stretto")
    words = [stretto, "-q", "study", study, *more, "--json", str(target)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    print(f"recorded in {target.relative_to(HERE.parent)}")
    return target


def omega_table(points: list[dict[str, Any]]) -> list[str]:
    """Conflict fraction and busyness, one row for each decision time."""
    decisions = list(dict.fromkeys(each["decision_s"] for each in points))
    groups: dict[str, dict[float, str]] = {}
    for each in points:
        plain = (each["conflicts"], each["commit"]) == ("fit", "incremental")
        mode = "" if plain else f" {each['conflicts']}, {each['commit']}"
        if each["conflicts"] == "hosts":
            mode = " hosts, n by load" if each["hosts"] is None else f" hosts, n = {each['hosts']}"
        cell = f"{each['conflict_fraction']:.2f} / {each['busyness']:.2f}"
        cells = groups.setdefault(f"{each['schedulers']}{mode}", {})
        cells[each["decision_s"]] = f"({cell})" if each["saturated"] else cell
    lines = [
        "| schedulers | " + " | ".join(f"{each:g} s" for each in decisions) + " |",
        "| --- |" + " --- |" * len(decisions),
    ]
    for name, cells in groups.items():
        lines.append(f"| {name} | " + " | ".join(cells[each] for each in decisions) + " |")
    return lines


def hosts_table(points: list[dict[str, Any]]) -> list[str]:
    """Conflicts, busyness, wait and distance from the best host, by number of hosts."""
    lines = [
        "| n | decision | conflicts per success | busyness | mean wait | hosts that refused |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for each in points:
        if each["conflicts"] != "hosts" or each["saturated"]:
            continue
        n = "by load" if each["hosts"] is None else each["hosts"]
        lines.append(
            f"| {n} | {each['decision_s']:g} s | {each['conflict_fraction']:.3f} "
            f"| {each['busyness']:.2f} | {each['wait_mean_s']:.2f} s | {each['rank_mean']:.3f} |"
        )
    return lines


def shards_table(points: list[dict[str, Any]]) -> list[str]:
    """Throughput and repeated work, one row for each plane."""
    cells: dict[tuple[str, int, str], dict[float, str]] = {}
    for each in points:
        how = "packing" if each["policy"] == "packing" else "spreading"
        key = how, each["shards"], "yes" if each["partitions"] else "no"
        ms = round(1000 * each["decision_s"], 3)
        cells.setdefault(key, {})[ms] = f"{each['pods_per_s']:,.0f} / {each['redone_pct']:.1f}"
    lines = [
        "| | shards | partitions | " + " | ".join(f"{ms:g} ms" for ms in SHOWN_MS) + " |",
        "| --- | --- | --- |" + " --- |" * len(SHOWN_MS),
    ]
    for (how, shards, apart), found in cells.items():
        shown = " | ".join(found[ms] for ms in SHOWN_MS)
        lines.append(f"| {how} | {shards} | {apart} | {shown} |")
    return lines


def forecast_rows(cluster: str, gpus: int, reports: list[dict[str, Any]]) -> list[str]:
    """One row for each queue policy and source of run times."""
    return [
        f"| {cluster}, {gpus} GPUs | {each['queue']} | {each['run_times']} | {each['forecasts']} "
        f"| {hours(each['mean_wait_s'])} | {hours(each['median_error_s'])} "
        f"| {hours(each['p90_error_s'])} | {hours(each['bias_s'])} | {each['near']:.0%} "
        f"| {each['explained'] if each['explained'] is not None else '-'} |"
        for each in reports
    ]


def forecast_table(data: Path) -> list[str]:
    """The forecasts of both clusters."""
    lines = [
        (
            "| trace | queue | run times | forecasts | mean wait h | median error h | p90 error h "
            "| bias h | near | explained |"
        ),
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for cluster, gpus in POOLS.items():
        words = ["--pods", str(data / f"philly_vc_{cluster}.csv"), "--gpus", str(gpus)]
        found = run("forecast", *words, name=f"forecast-{cluster}")["reports"]
        for picture in (DOCS / "images").glob("forecast.*"):
            picture.rename(picture.with_stem(f"forecast-{cluster}"))
        lines += forecast_rows(cluster, gpus, found)
    return lines


def hours(seconds: float) -> str:
    """Seconds in hours."""
    return f"{seconds / 3600:,.2f}"


def one_pool_table(found: dict[str, Any]) -> list[str]:
    """Usage of both pools, then the results by queue."""
    lines = [
        "| | CPU mean | CPU peak | GPU mean | GPU peak |",
        "| --- | --- | --- | --- | --- |",
    ]
    for pool in found["pools"]:
        parts = (pool[f"{what}_pct"] for what in ("mean_cpu", "peak_cpu", "mean_gpu", "peak_gpu"))
        lines.append(f"| {pool['name']} | " + " | ".join(f"{part:.1f} %" for part in parts) + " |")
    lines += [
        "",
        (
            "| queue | pool | started | mean / p99 / longest wait | waiting at the end | evicted "
            "| core hours done, lost | GPU hours done, lost |"
        ),
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    rows = [
        (each["queue"], pool["name"], each) for pool in found["pools"] for each in pool["queues"]
    ]
    order = list(dict.fromkeys(queue for queue, _, _ in rows))
    for queue, pool, each in sorted(rows, key=lambda row: (order.index(row[0]), row[1])):
        waits = (each[f"{what}_wait_s"] for what in ("mean", "p99", "max"))
        lines.append(
            f"| {queue} | {pool} | {each['started']:,} | {' / '.join(span(w) for w in waits)} "
            f"| {each['waiting']:,} | {each['evicted']:,} "
            f"| {each['done_core_h']:,.0f}, {each['lost_core_h']:,.0f} "
            f"| {each['done_gpu_h']:,.0f}, {each['lost_gpu_h']:,.0f} |"
        )
    return lines


def reclaim_table(points: list[dict[str, Any]]) -> list[str]:
    """One row for each lender and limit."""
    lines = [
        (
            "| limit | lender | loaned | used by batch | total use | core hours done | gained "
            "| throttled | evicted per 1,000 core hours | work lost |"
        ),
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {each['limit_pct']} % | {each['lender']} | {each['loaned_pct']:.1f} % "
        f"| {each['batch_pct']:.1f} % | {each['node_pct']:.1f} % | {each['done_core_h']:,.0f} "
        f"| {each['won_core_h']:+,.0f} | {each['throttled_s_per_core_h']:,.0f} s/h, "
        f"{each['throttled_pct']:.1f} % | {each['evicted_per_1000_core_h']:,.0f} "
        f"| {each['lost_pct']:.1f} % |"
        for each in points
    ]
    return lines


def span(seconds: float) -> str:
    """Seconds as a duration with a unit."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def use_table(points: list[dict[str, Any]]) -> list[str]:
    """One row for each configuration: use, work and cost."""
    lines = [
        (
            "| | requested | in use, mean / peak | core hours done | jobs used core hours "
            "| pending at the end, mean wait | evicted, core hours lost | throttled core hours: "
            "jobs / online | longest wait of online |"
        ),
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {each['name']} | {each['requested_pct']:.1f} % | {each['used_pct']:.1f} % / "
        f"{each['peak_used_pct']:.1f} % | {each['done_core_h']:,.0f} "
        f"| {each['jobs_used_core_h']:,.0f} | {each['waiting']:,}, {span(each['mean_wait_s'])} "
        f"| {each['evicted']:,}, {each['lost_core_h']:,.0f} "
        f"| {each['jobs_throttled_core_h']:,.1f} / {each['online_throttled_core_h']:,.1f} "
        f"| {span(each['online_wait_s'])} |"
        for each in points
    ]
    return lines


def seasonal_table(points: list[dict[str, Any]]) -> list[str]:
    """One row for each series: the errors of all predictors at each distance."""
    ahead = list(dict.fromkeys(each["ahead_s"] for each in points))
    lines = [
        "| series | " + " | ".join(f"{span(each)} ahead" for each in ahead) + " |",
        "| --- |" + " --- |" * len(ahead),
    ]
    rows: dict[str, list[str]] = {}
    for each in points:
        cell = " / ".join(f"{value:.1f} %" for value in each["errors_pct"].values())
        rows.setdefault(each["series"], []).append(cell)
    return lines + [f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows.items()]


def reclaim_memory_table(points: list[dict[str, Any]]) -> list[str]:
    """One row for each estimator of memory."""
    lines = [
        "| lender | loaned | used by reclaimed pods | total use | short | killed | worst step |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {each['lender']} | {each['loaned_pct']:.1f} % | {each['batch_pct']:.1f} % "
        f"| {each['node_pct']:.1f} % | {each['short_pct']:.2f} % of steps "
        f"| {each['killed_pct_per_h']:.2f} % per hour | {each['worst_pct']:.1f} % |"
        for each in points
    ]
    return lines


def record_memory(folder: Path) -> None:
    """The memory part of the reclaim study on a month of GWA-T-12."""
    found = run("reclaim", "--memory", str(folder), name="reclaim-memory")
    page = DOCS / "appendix" / "reclaim.md"
    write(page, "reclaim-memory", reclaim_memory_table(found["points"]))


def record_reclaim(use: Path | None) -> None:
    """The reclaim study on the bundled series, and on a day of PlanetLab if there is one."""
    page = DOCS / "appendix" / "reclaim.md"
    if use is not None:
        found = run("reclaim", "--use", str(use), name="planetlab-reclaim")
        write(page, "reclaim-planetlab", reclaim_table(found["points"]))
    write(page, "reclaim", reclaim_table(run("reclaim")["points"]))


def main() -> None:
    """Run and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="one study, such as omega")
    parser.add_argument("--data", type=Path, help="folder of the Philly traces")
    parser.add_argument("--use", type=Path, help="a day of PlanetLab, one file per machine")
    parser.add_argument("--memory", type=Path, help="a month of GWA-T-12, one file per machine")
    options = parser.parse_args()
    if options.only in ("", "omega"):
        points = run("omega")["points"]
        write(DOCS / "appendix" / "omega.md", "omega", omega_table(points))
        write(DOCS / "appendix" / "omega.md", "hosts", hosts_table(points))
    if options.only in ("", "shards"):
        write(PERFORMANCE, "shards", shards_table(run("shards")["points"]))
    if options.only in ("", "forecast") and options.data is not None:
        write(
            DOCS / "guides" / "researcher" / "forecast.md", "forecast", forecast_table(options.data)
        )
    if options.only in ("", "one-pool"):
        write(DOCS / "appendix" / "one-pool.md", "one-pool", one_pool_table(run("one-pool")))
    if options.only in ("", "pool-use"):
        points = run("pool-use")["points"]
        write(DOCS / "appendix" / "one-pool.md", "pool-use", use_table(points))
    if options.only in ("", "seasonal"):
        points = run("seasonal")["points"]
        write(DOCS / "guides" / "scaling.md", "seasonal", seasonal_table(points))
    if options.only in ("", "reclaim"):
        record_reclaim(options.use)
    if options.only in ("", "reclaim-memory") and options.memory is not None:
        record_memory(options.memory)


if __name__ == "__main__":
    main()
