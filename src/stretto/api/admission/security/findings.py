"""Inputs of checks of pod security, and the wording of their findings."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Json = dict[str, Any]


class SecurityFinding(NamedTuple):
    """Violation of a level by a pod."""

    #: Reason in a few words.
    reason: str
    #: The containers and values concerned.
    detail: str


@dataclass(frozen=True)
class PodView:
    """A pod, or a pod template, as read by the checks."""

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
        """Return whether the pod has a user namespace of its own."""
        return self.spec.get("hostUsers") is False

    def containers(self) -> Iterator[tuple[str, Json, Json]]:
        """Yield name, container and security context of each container."""
        for key in ("initContainers", "containers", "ephemeralContainers"):
            for each in self.spec.get(key) or ():
                yield each.get("name", ""), each, each.get("securityContext") or {}

    def named(self, selects: Callable[[Json], bool]) -> list[str]:
        """Names of the containers whose security context satisfies a predicate."""
        return [name for name, _, security in self.containers() if selects(security)]


Find = Callable[[PodView], SecurityFinding | None]
"""A check: it returns its finding, or ``None``."""


def listed(items: Iterable[str]) -> str:
    """Join quoted items with commas."""
    return ", ".join(f'"{each}"' for each in items)


def counted(singular: str, items: Sequence[str], plural: str = "") -> str:
    """Return the singular or plural form of a noun for a number of items."""
    return singular if len(items) == 1 else plural or f"{singular}s"


def containers_text(names: Sequence[str]) -> str:
    """Format containers by name: ``containers "a", "b"``."""
    return f"{counted('container', names)} {listed(names)}"


def setters(view: PodView, selects: Callable[[Json], bool]) -> str:
    """Text about the pod and containers whose security context is selected; empty if none."""
    found = ["pod"] if selects(view.security) else []
    names = view.named(selects)
    if names:
        found.append(containers_text(names))
    return " and ".join(found)


def values_of(view: PodView, read: Callable[[Json], str | None]) -> list[str]:
    """The distinct values in the security contexts of a pod, sorted."""
    contexts = [view.security, *(security for _, _, security in view.containers())]
    found = {read(each) for each in contexts}
    return sorted(each for each in found if each is not None)
