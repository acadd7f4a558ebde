"""What a check of pod security reads of a pod, and how it words what it finds."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Json = dict[str, Any]


class SecurityFinding(NamedTuple):
    """What a pod does that a level does not allow."""

    #: In a few words.
    reason: str
    #: Which containers and values.
    detail: str


@dataclass(frozen=True)
class PodView:
    """A pod, or the template of one, as checks read it."""

    #: Its metadata.
    metadata: Json
    #: Its spec.
    spec: Json

    @property
    def security(self) -> Json:
        """The security context of the pod."""
        return self.spec.get("securityContext") or {}

    @property
    def is_windows(self) -> bool:
        """Return whether its operating system is Windows."""
        return bool((self.spec.get("os") or {}).get("name") == "windows")

    @property
    def has_user_namespace(self) -> bool:
        """Return whether its users differ from those of the node."""
        return self.spec.get("hostUsers") is False

    def containers(self) -> Iterator[tuple[str, Json, Json]]:
        """Name, container and security context of each container."""
        for key in ("initContainers", "containers", "ephemeralContainers"):
            for each in self.spec.get(key) or ():
                yield each.get("name", ""), each, each.get("securityContext") or {}

    def named(self, selects: Callable[[Json], bool]) -> list[str]:
        """The containers whose security context a function selects."""
        return [name for name, _, security in self.containers() if selects(security)]


Find = Callable[[PodView], SecurityFinding | None]
"""A check: what it finds, or ``None``."""


def listed(items: Iterable[str]) -> str:
    """Quoted items, separated by commas."""
    return ", ".join(f'"{each}"' for each in items)


def counted(singular: str, items: Sequence[str], plural: str = "") -> str:
    """A noun for a number of items."""
    return singular if len(items) == 1 else plural or f"{singular}s"


def containers_text(names: Sequence[str]) -> str:
    """Containers by name: ``containers "a", "b"``."""
    return f"{counted('container', names)} {listed(names)}"


def setters(view: PodView, selects: Callable[[Json], bool]) -> str:
    """The pod and its containers whose security context is selected; empty for none."""
    found = ["pod"] if selects(view.security) else []
    names = view.named(selects)
    if names:
        found.append(containers_text(names))
    return " and ".join(found)


def values_of(view: PodView, read: Callable[[Json], str | None]) -> list[str]:
    """The different values in the security contexts of a pod, sorted."""
    contexts = [view.security, *(security for _, _, security in view.containers())]
    found = {read(each) for each in contexts}
    return sorted(each for each in found if each is not None)
