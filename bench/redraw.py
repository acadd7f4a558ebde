"""Draw the plots of the documents again from the recorded results, without measuring.

    python bench/redraw.py

Use it after a change of the drawing code.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import curves
import kube
import msgspec
from record import DOCS, HERE
from studies import POOLS

from stretto.sim.plots.figures import Pictures, draw_plots
from stretto_lab.studies.forecast import ForecastPoint, ForecastReport, forecast_plot
from stretto_lab.studies.omega.shards import ShardPoint, shard_plots
from stretto_lab.studies.omega.sweep import OmegaPoint, omega_plots
from stretto_lab.studies.one_pool.real_use import UseStudyResult, use_plot
from stretto_lab.studies.one_pool.report import OnePoolResult, one_pool_plots
from stretto_lab.studies.reclaim.sweep import ReclaimPoint, reclaim_plots


def latest(study: str) -> dict[str, Any]:
    """The record of a study that was committed last."""
    paths = (HERE / "results").glob(f"{study}-[0-9a-f]*.json")
    found: dict[str, Any] = json.loads(max(paths, key=committed).read_text())
    return found


def committed(path: Path) -> int:
    """Time of the last commit of a file."""
    words = ["git", "-C", str(HERE), "log", "-1", "--format=%ct", "--", str(path)]
    return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout or 0)


def forecasts(cluster: str) -> Pictures:
    """The forecasts of one Philly cluster."""
    pairs = []
    for each in latest(f"forecast-{cluster}")["reports"]:
        points = [
            {"predicted_s" if key == "told_s" else key: value for key, value in point.items()}
            for point in each.pop("points")  # the name of earlier records
        ]
        found = msgspec.convert(points, list[ForecastPoint])
        pairs.append((msgspec.convert(each, ForecastReport), found))
    return forecast_plot(pairs, f"forecast-{cluster}")


def main() -> None:
    """Draw and write all of them."""
    omega, shards = latest("omega"), latest("shards")
    plots = one_pool_plots(msgspec.convert(latest("one-pool"), OnePoolResult))
    plots.append(use_plot(msgspec.convert(latest("pool-use"), UseStudyResult)))
    pictures = reclaim_plots(msgspec.convert(latest("reclaim")["points"], list[ReclaimPoint]))
    plots += omega_plots(
        msgspec.convert(omega["points"], list[OmegaPoint]), omega["study"]["modes_at"]
    )
    plots += shard_plots(msgspec.convert(shards["points"], list[ShardPoint]))
    pictures |= draw_plots(plots)
    for cluster in POOLS:
        pictures |= forecasts(cluster)
    pictures |= curves.pictures(latest("curves"))
    pictures |= kube.pictures(latest("kube"))
    for name, content in pictures.items():
        Path(DOCS / "images" / name).write_bytes(content)
    print(f"{len(pictures)} files")


if __name__ == "__main__":
    main()
