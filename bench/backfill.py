"""Compare queue policies on Philly jobs: FIFO, EASY and conservative backfill, with estimates.

    python bench/backfill.py philly_vc_0e4a51.csv --gpus 96 --gpus-per-node 8

Estimates are the run time, or the run time times a uniform random factor; a job whose factor is
below 1 exceeds its estimate. Writes a table, and a record with machine and commit with ``--out``.
"""

import argparse
from pathlib import Path

import msgspec
from record import commit, machine

from stretto.base.rng import Rng
from stretto.inputs.traces.philly import PhillyJob, load_jobs
from stretto.sim.traces.philly import simulate_philly

ESTIMATES = {"exact": (1.0, 1.0), "1 to 5 times": (1.0, 5.0), "0.5 to 2 times": (0.5, 2.0)}
"""Ranges of the factor between run time and estimate."""


def with_estimates(jobs: tuple[PhillyJob, ...], low: float, high: float) -> list[PhillyJob]:
    """The jobs with estimates; the draws depend on the order of the jobs only."""
    draw = Rng(1).child("estimates")
    return [
        msgspec.structs.replace(job, estimate_s=job.duration_s * (low + (high - low) * f))
        for job, f in zip(jobs, draw.numpy().random(len(jobs)).tolist(), strict=True)
    ]


def main() -> None:
    """Run every policy with every kind of estimates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", type=Path)
    parser.add_argument("--gpus", type=int, default=96)
    parser.add_argument("--gpus-per-node", type=int, default=8)
    parser.add_argument("--first", type=int, default=None, help="only the first N jobs")
    parser.add_argument("--policies", default="fifo,easy,conservative")
    parser.add_argument("--estimates", default=",".join(ESTIMATES))
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    jobs, rows = load_jobs(options.jobs)[: options.first], []
    for policy in options.policies.split(","):
        for name in options.estimates.split(","):
            low, high = ESTIMATES[name]
            if policy == "fifo" and name != "exact":
                continue  # FIFO does not read estimates
            work = with_estimates(jobs, low, high)
            found = simulate_philly(work, options.gpus, policy, None, options.gpus_per_node).report
            row = {"policy": policy, "estimates": name, **msgspec.to_builtins(found)}
            rows.append(row)
            print(
                f"{policy:13} {name:15} mean {row['mean_wait_s'] / 3600:8.2f} h  "
                f"p95 {row['p95_wait_s'] / 3600:8.2f} h  max {row['max_wait_s'] / 3600:8.2f} h  "
                f"GPUs in use {row['gpu_util']:.3f}",
                flush=True,
            )
    if options.out is not None:
        size = {"gpus": options.gpus, "gpus_per_node": options.gpus_per_node, "jobs": len(jobs)}
        where = {"commit": commit(), "machine": machine()}
        whole = {**where, "trace": options.jobs.name, **size, "runs": rows}
        options.out.write_bytes(msgspec.json.format(msgspec.json.encode(whole), indent=1) + b"\n")


if __name__ == "__main__":
    main()
