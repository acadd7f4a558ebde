"""Simulate rollouts over clusters and record whether they kept their limits.

    python bench/rollouts.py [--rollouts N] [--events N] [--first SEED]

Writes ``bench/results/rollouts-COMMIT.json``. The figures do not depend on the machine.
"""

import argparse

import msgspec
from record import commit, store

from stretto_lab.studies.rollout.figures import measure


def main() -> None:
    """Simulate and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rollouts", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=6)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    figures = measure(range(args.first, args.first + args.rollouts), args.events)
    record = {"commit": commit(), "events": args.events, "first": args.first}
    store("rollouts", record | {"figures": msgspec.to_builtins(figures)})


if __name__ == "__main__":
    main()
