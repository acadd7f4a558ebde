"""The example scenarios that come with the package, by name.

The wheel contains the folder ``examples`` of the repository; a checkout uses that folder itself.
"""

from pathlib import Path
from typing import Any, Final

import click

import stretto
from stretto.base.errors import UnknownNameError
from stretto.cli.options import completes

_PACKAGE: Final = Path(stretto.__file__).resolve().parent
SUFFIX: Final = ".yaml"


def examples_folder() -> Path:
    """The folder of the examples: in the package, else in the checkout."""
    packaged = _PACKAGE / "examples"
    return packaged if packaged.is_dir() else _PACKAGE.parents[1] / "examples"


def example_names() -> list[str]:
    """Names of the example scenarios."""
    return sorted(path.stem for path in examples_folder().glob(f"*{SUFFIX}"))


def example_path(name: str) -> Path:
    """The scenario of an example.

    Raises:
        UnknownNameError: no such example; the nearest name is shown.
    """
    if name not in example_names():
        raise UnknownNameError("example", name, example_names())
    return examples_folder() / f"{name}{SUFFIX}"


def summary(path: Path) -> str:
    """The first sentence of the comment at the top of a scenario."""
    words: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#") or not line.strip("# "):
            break
        words.append(line.strip("# "))
    text = " ".join(words)
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]


class ScenarioPath(click.Path):
    """A scenario's file, or the name of a bundled example."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=True, readable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A path; an example's name becomes the path of its scenario."""
        text = str(value)
        if text in example_names() and not Path(text).is_file():
            return example_path(text)
        if "/" not in text and "." not in text and not Path(text).exists():
            raise UnknownNameError("scenario or example", text, example_names())
        return super().convert(value, param, ctx)


SCENARIO: Final = click.argument(
    "scenario", type=ScenarioPath(), shell_complete=completes("examples")
)
"""The argument that names a scenario."""
