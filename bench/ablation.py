"""Measure the effect of each optimisation and record it.

    python bench/ablation.py [--nodes 5000,20000] [--rounds 5]

The sizes run in this process, one after the other. Results go to
``bench/results/ablation-COMMIT.json`` and into the table of ``docs/performance.md``. The figures
are medians; the factors of the whole engine use CPU time, which other processes disturb less.
"""

import argparse
from typing import Any

import msgspec
from record import PERFORMANCE, commit, machine, store, write

from stretto_lab.bench.ablation.scene import Ablation, AblationOptions
from stretto_lab.bench.ablation.score_cache import run_ablation
from stretto_lab.bench.ablation.victims import preemption

CLAIMS = {
    "Snapshot by the change log": "four orders of magnitude on synchronisation",
    "Slots by zone": "rebuilding the list was half of the cost",
    "Eight shards, decisions of 10 ms": "2,500 pods/s with one shard, 5,000 with several",
    "Preemption by priority sums": "a rejection within 2 ms",
}
"""Result of the same idea in Gödel's article."""


def table(found: dict[int, list[Ablation]]) -> list[str]:
    """The table of the page, by size."""
    lines = [
        "| nodes | part | its counterpart | us each | | factor | whole engine | Gödel's article |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for nodes, parts in found.items():
        for each in parts:
            whole = "-"
            if each.whole_factor is not None:
                whole = f"{each.whole_us:.1f} → {each.whole_plain_us:.1f}: ×{each.whole_factor:.2f}"
            lines.append(
                f"| {nodes:,} | {each.part}: {each.each} | {each.plain} | {each.fast_us:,.2f} "
                f"| {each.plain_us:,.2f} | ×{each.factor:,.1f} | {whole} "
                f"| {CLAIMS.get(each.part, '-')} |"
            )
    return lines


def write_page(record: dict[str, Any], found: dict[int, list[Ablation]]) -> None:
    """Write the figures into the page on performance."""
    host = record["machine"]
    about = (
        f"Commit {record['commit']}, {host['cores']} cores of {host['cpu']}, Python "
        f"{host['python']}, NumPy {host['numpy']}, numba {host['numba']}, load "
        f"{host['load_before']:.1f} before."
    )
    write(PERFORMANCE, "ablation", [about, "", *table(found)])


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", default="5000,20000", help="sizes, separated by commas")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    host = machine()
    found = {
        nodes: run_ablation(AblationOptions(nodes=nodes, rounds=options.rounds), [preemption])
        for nodes in map(int, options.nodes.split(","))
    }
    print("\n".join(table(found)))
    record = {
        "commit": commit(),
        "machine": host,
        "sizes": {str(nodes): msgspec.to_builtins(parts) for nodes, parts in found.items()},
    }
    store("ablation", record)
    write_page(record, found)


if __name__ == "__main__":
    main()
