"""Draw docs/images/run.png: the output and the plots of a run of examples/openb.yaml.

    .venv/bin/python scripts/run_picture.py

The picture in the README is generated: the script runs the command and places its output and its
plots side by side.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imread

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "images" / "run.png"
DARK, LIGHT = "#16181d", "#e6e6e6"


def ran(out: Path) -> str:
    """Run the example; returns its output."""
    words = ["-m", "stretto.cli.main", "run", "examples/openb.yaml", "-q", "--out", str(out)]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    end = next(i for i, line in enumerate(lines) if line.startswith("other resources"))
    return "\n".join(["$ make run", *(line.rstrip() for line in lines[:end])]).rstrip()


def drawn(text: str, plots: list[Path]) -> None:
    """Text on the left, plots on the right."""
    figure = Figure(figsize=(11.5, 4.9), dpi=100, facecolor="white")
    FigureCanvasAgg(figure)
    screen = figure.add_axes((0.0, 0.0, 0.56, 1.0), facecolor=DARK)
    screen.set(xticks=[], yticks=[])
    style: dict[str, Any] = {
        "family": "monospace",
        "fontsize": 7.9,
        "color": LIGHT,
        "linespacing": 1.28,
    }
    screen.text(0.03, 0.97, text, va="top", transform=screen.transAxes, linespacing=1.28, **style)
    for row, plot in enumerate(plots):
        axes = figure.add_axes((0.57, 0.505 - 0.5 * row, 0.42, 0.48))
        axes.imshow(imread(plot))
        axes.axis("off")
    figure.savefig(TARGET, metadata={"Software": None})


with tempfile.TemporaryDirectory() as folder:
    text = ran(Path(folder))
    drawn(text, [Path(folder) / "allocated.png", Path(folder) / "nodes.png"])
print(f"{TARGET.relative_to(ROOT)}: {TARGET.stat().st_size // 1024} kB")
