"""The trace: a running hash of a run, and failures as files.

Two runs with the same hash made the same decisions in the same order at the same virtual times. A
failure is saved as the list of its faults, so that a replay needs no draws.
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
        """Start with an empty trace."""
        self._hash = hashlib.blake2b(digest_size=16)

    def add(self, *parts: object) -> None:
        """Add one entry; each part contributes its ``repr``."""
        if parts:
            self._hash.update("\x1f".join(map(repr, parts)).encode())

    def hash(self) -> str:
        """The hash so far."""
        return self._hash.hexdigest()


class ChaosFailure(msgspec.Struct, frozen=True):
    """A violated law and everything needed to reproduce it."""

    #: Seed of the world and the plane.
    seed: int
    #: Steps to run before the heal.
    steps: int
    #: Breaches.
    breaches: tuple[str, ...]
    #: Faults and changes that happen in the replay.
    faults: tuple[Fault, ...]
    #: Version of this format.
    schema: str = SCHEMA


def save_failure(failure: ChaosFailure, path: Path) -> None:
    """Save a failure."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(failure), indent=1) + b"\n")


def load_failure(path: Path) -> ChaosFailure:
    """Load a saved failure.

    Raises:
        InputError: the file is not a saved failure.
    """
    try:
        failure = msgspec.json.decode(path.read_bytes(), type=ChaosFailure)
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise InputError(str(path), str(error), "a failure saved by stretto chaos") from error
    if failure.schema != SCHEMA:
        raise InputError(f"{path}: schema", failure.schema, SCHEMA)
    return failure
