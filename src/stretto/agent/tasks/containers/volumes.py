"""Persistent volumes: directories that outlive tasks, linked into the tasks' sandboxes."""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from stretto.offers.messages.schema import Message

FOLDER: Final = "volumes"
"""Folder of volumes below the work directory; it has one folder per role and id."""


class VolumeError(Exception):
    """A volume cannot be attached; the text contains the reason."""


class Volumes:
    """The persistent volumes of one agent."""

    def __init__(self, directory: Path) -> None:
        """Store volumes below the work directory of an agent."""
        self._directory = directory / FOLDER

    def attach(self, resources: Iterable[Message], sandbox: Path) -> None:
        """Link the volumes among the resources of a container into its sandbox.

        Raises:
            VolumeError: the path of a volume leaves the sandbox, or exists already.
            OSError: a directory cannot be created.
        """
        for each in _persistent(resources):
            place = self._place(each)
            place.mkdir(parents=True, exist_ok=True)
            name = each["disk"].get("volume", {}).get("container_path", "")
            path = Path(name)
            if not path.name or path.is_absolute() or ".." in path.parts:
                raise VolumeError(f"the volume path '{name}' is not a path below the sandbox")
            link = sandbox / path
            link.parent.mkdir(parents=True, exist_ok=True)
            if link.is_symlink() and link.readlink() == place:
                continue
            if link.exists() or link.is_symlink():
                raise VolumeError(f"the volume path '{name}' exists in the sandbox")
            link.symlink_to(place, target_is_directory=True)

    def keep(self, resources: Iterable[Message]) -> None:
        """Remove every volume that is not listed, because its framework has destroyed it."""
        wanted = {self._place(each) for each in _persistent(resources)}
        for place in self._directory.glob("*/*"):
            if place not in wanted:
                shutil.rmtree(place, ignore_errors=True)

    def _place(self, resource: Message) -> Path:
        """The directory of a volume; slashes in roles become spaces, as in Mesos."""
        reservations = resource.get("reservations", ())
        role: str = reservations[-1]["role"] if reservations else resource.get("role", "*")
        identity: str = resource["disk"]["persistence"]["id"]
        return self._directory / role.replace("/", " ") / identity


def _persistent(resources: Iterable[Message]) -> Iterator[Message]:
    return (each for each in resources if "persistence" in each.get("disk", {}))
