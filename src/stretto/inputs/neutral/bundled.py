"""Data files that ship with the package."""

from importlib.resources import files
from typing import TypeVar

import msgspec

from stretto.base.errors import InputError

_T = TypeVar("_T")


def read_bundled(name: str, form: type[_T]) -> _T:
    """A JSON file of the package as a struct.

    Args:
        name: path below ``stretto/inputs``, such as ``data/openb.json``.
        form: the struct.

    Raises:
        InputError: the file is damaged.
    """
    raw = files("stretto.inputs").joinpath(name).read_bytes()
    try:
        return msgspec.json.decode(raw, type=form)
    except msgspec.DecodeError as error:
        raise InputError(name, str(error), "the figures of this version") from error
