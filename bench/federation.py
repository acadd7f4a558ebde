"""Compare the default division of replicas with KubeAdmiral's and Karmada's, and record it.

    python bench/federation.py [--workloads N] [--seed N]

Writes ``bench/results/federation-COMMIT.json`` and the table in ``docs/parity/federation.md``. The
figures do not depend on the machine.
"""

import argparse

import msgspec
from record import DOCS, commit, store, table, write

from stretto_lab.studies.division import DivisionFigures, measure

COLUMNS = (
    "planner",
    "limits",
    "mean distance",
    "farthest",
    "outside quota",
    "not monotone",
    "started + stopped beyond the change",
    "dropped",
)


def cells(each: DivisionFigures) -> list[str]:
    """One row of the page's table."""
    beyond = each.started + each.stopped - each.necessary
    return [
        each.planner,
        "yes" if each.limits else "no",
        f"{each.distance / each.divisions:.2f}",
        f"{each.farthest:.2f}",
        f"{each.outside_quota / each.divisions:.1%}",
        f"{each.not_monotone / each.divisions:.1%}",
        f"{beyond:,}",
        f"{each.dropped:,}",
    ]


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    figures = list(measure(given.workloads, given.seed))
    record = {
        "commit": commit(),
        "workloads": given.workloads,
        "seed": given.seed,
        "figures": msgspec.to_builtins(figures),
    }
    store("federation", record)
    rows = [cells(each) for each in figures]
    write(DOCS / "parity" / "federation.md", "division", table(COLUMNS, rows))


if __name__ == "__main__":
    main()
