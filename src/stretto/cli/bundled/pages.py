"""The bundled pages of the documentation by name.

The wheel contains the Markdown files of the folder ``docs``; a checkout uses that folder itself.
"""

from functools import cache
from pathlib import Path
from typing import Final

import stretto
from stretto.base.errors import UnknownNameError

_PACKAGE: Final = Path(stretto.__file__).resolve().parent
SUFFIX: Final = ".md"
_INCLUDED: Final = ("project",)
"""Folders with pages that only include files of the repository."""


def pages_folder() -> Path:
    """Return the folder of the pages: in the package, else in the checkout."""
    packaged = _PACKAGE / "docs"
    return packaged if packaged.is_dir() else _PACKAGE.parents[1] / "docs"


@cache
def page_names() -> tuple[str, ...]:
    """Return the names of the pages, such as ``concepts/queues``; those at the top come first."""
    folder = pages_folder()
    found = (path.relative_to(folder).with_suffix("") for path in folder.rglob(f"*{SUFFIX}"))
    names = [each.as_posix() for each in found if each.parts[0] not in _INCLUDED]
    return tuple(sorted(names, key=lambda name: ("/" in name, name)))


def page_text(spelled: str) -> tuple[str, str]:
    """Return the name and the text of a page.

    Args:
        spelled: name of the page, its last part if that is unique, or ``docs/NAME.md``.

    Raises:
        UnknownNameError: no page has the name, or several pages have it.
    """
    wanted = spelled.removeprefix("docs/").removesuffix(SUFFIX).strip("/")
    ends = [name for name in page_names() if name.rpartition("/")[2] == wanted]
    name = wanted if wanted in page_names() or len(ends) != 1 else ends[0]
    if name not in page_names():
        raise UnknownNameError("page", spelled, ends or page_names())
    return name, _file(name).read_text(encoding="utf-8")


def title_of(name: str) -> str:
    """Return the title of a page."""
    with _file(name).open(encoding="utf-8") as lines:
        return next((line.strip("# \n") for line in lines if line.startswith("# ")), name)


def _file(name: str) -> Path:
    return pages_folder() / f"{name}{SUFFIX}"
