"""The bundled example scenarios by name.

The wheel contains the folder ``examples`` of the repository; a checkout uses that folder itself.
"""

from pathlib import Path
from typing import Final

import stretto
from stretto.base.errors import UnknownNameError

_PACKAGE: Final = Path(stretto.__file__).resolve().parent
SUFFIX: Final = ".yaml"


def examples_folder() -> Path:
    """Return the folder of the examples: in the package, else in the checkout."""
    packaged = _PACKAGE / "examples"
    return packaged if packaged.is_dir() else _PACKAGE.parents[1] / "examples"


def example_names() -> list[str]:
    """Return the names of the example scenarios."""
    return sorted(path.stem for path in examples_folder().glob(f"*{SUFFIX}"))


def example_path(name: str) -> Path:
    """Return the path of the scenario of an example.

    Raises:
        UnknownNameError: there is no such example; the message contains the nearest name.
    """
    if name not in example_names():
        raise UnknownNameError("example", name, example_names())
    return examples_folder() / f"{name}{SUFFIX}"


def summary(path: Path) -> str:
    """Return the first sentence of the comment at the top of a scenario."""
    words: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#") or not line.strip("# "):
            break
        words.append(line.strip("# "))
    text = " ".join(words)
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]
