"""Run the studies in virtual time, and record them.

    python bench/studies.py [--only omega]

Runs ``stretto study omega`` and ``stretto study shards`` as they stand, keeps their JSON under
``bench/results``, their plots under ``docs/images``, and puts the tables into ``docs/omega.md`` and
``docs/performance.md``. The figures are of virtual time: they are the same on every machine.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from record import commit

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
SHOWN_MS = (1.0, 10.0, 100.0)
"""Decision times of the shards' table; the plots show all."""


def run(study: str) -> dict[str, Any]:
    """One study, with its plots in their place."""
    target = HERE / "results" / f"{study}-{commit()}.json"
    stretto = str(Path(sys.executable).parent / "stretto")
    words = [stretto, "-q", "study", study, "--json", str(target), "--out", str(DOCS / "images")]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    print(f"recorded in {target.relative_to(HERE.parent)}")
    found: dict[str, Any] = json.loads(target.read_text())
    return found


def omega_table(points: list[dict[str, Any]]) -> list[str]:
    """Conflict fraction and busyness, a row for each decision time."""
    decisions = list(dict.fromkeys(each["decision_s"] for each in points))
    groups: dict[str, dict[float, str]] = {}
    for each in points:
        plain = (each["conflicts"], each["commit"]) == ("fit", "incremental")
        mode = "" if plain else f" {each['conflicts']}, {each['commit']}"
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


def shards_table(points: list[dict[str, Any]]) -> list[str]:
    """Throughput and redone work, a row for each plane."""
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


def write(page: Path, mark: str, lines: list[str]) -> None:
    """Put lines between a page's marks."""
    start, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    head, found, rest = page.read_text().partition(start)
    if not found:
        sys.exit(f"{page} has no {start}")
    page.write_text(head + start + "\n" + "\n".join(lines) + "\n" + end + rest.partition(end)[2])


def main() -> None:
    """Run and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="omega or shards")
    asked = parser.parse_args()
    if asked.only in ("", "omega"):
        write(DOCS / "omega.md", "omega", omega_table(run("omega")["points"]))
    if asked.only in ("", "shards"):
        write(DOCS / "performance.md", "shards", shards_table(run("shards")["points"]))


if __name__ == "__main__":
    main()
