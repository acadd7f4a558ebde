"""The trace: a running hash of everything that happened, and failures as files.

Two runs with the same hash took the same decisions in the same order at the same virtual times. A
failure is kept as the list of faults that make it happen; replaying needs no chance.
"""

import hashlib
from pathlib import Path
from typing import Final

import msgspec

from stretto.base.errors import InputError
from stretto_lab.chaos.draws.faults import Fault

SCHEMA: Final = "stretto.chaos.failure/v1"
"""Version of a saved failure."""


class TraceHash:
    """A running hash."""

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self._hash = hashlib.blake2b(digest_size=16)

    def add(self, *parts: object) -> None:
        """Something happened; each part is taken by its ``repr``."""
        if parts:
            self._hash.update("\x1f".join(map(repr, parts)).encode())

    def hash(self) -> str:
        """The hash so far."""
        return self._hash.hexdigest()


class ChaosFailure(msgspec.Struct, frozen=True):
    """A broken law, and all that it takes to see it again."""

    #: The seed: it draws the world and the plane.
    seed: int
    #: Steps to run before the heal.
    steps: int
    #: What was broken.
    breaches: tuple[str, ...]
    #: The faults and changes that are let happen; nothing else is.
    faults: tuple[Fault, ...]
    #: Version of this form.
    schema: str = SCHEMA


def save_failure(failure: ChaosFailure, path: Path) -> None:
    """Keep a failure."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(failure), indent=1) + b"\n")


def load_failure(path: Path) -> ChaosFailure:
    """A failure that was kept.

    Raises:
        InputError: the file holds something else.
    """
    try:
        failure = msgspec.json.decode(path.read_bytes(), type=ChaosFailure)
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise InputError(str(path), str(error), "a failure saved by stretto chaos") from error
    if failure.schema != SCHEMA:
        raise InputError(f"{path}: schema", failure.schema, SCHEMA)
    return failure
