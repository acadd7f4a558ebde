"""Run the fault simulator over fleets and record what it checked.

    python bench/fleet_chaos.py [--seeds N] [--first SEED] [--steps N] [--seconds S]

Writes ``bench/results/fleet-chaos-COMMIT.json``; exits with 9 if a law was broken.
"""

import argparse
import sys
from time import perf_counter

from record import commit, store

from stretto_lab.chaos.fleets.campaign import FleetCampaign, run_seed


def main() -> int:
    """Run and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=25_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no seed after this time")
    args = parser.parse_args()
    begin, found = perf_counter(), FleetCampaign()
    for seed in range(args.first, args.first + args.seeds):
        if perf_counter() - begin > args.seconds:
            break
        found.add(run_seed(seed, args.steps))
    record = {
        "commit": commit(),
        "first": args.first,
        "steps_of_a_seed": args.steps,
        "seeds": found.seeds,
        "steps": found.steps,
        "events": found.events,
        "failed": {str(seed): text for seed, text in found.failed.items()},
    }
    store("fleet-chaos", record)
    return 9 if found.failed else 0


if __name__ == "__main__":
    sys.exit(main())
