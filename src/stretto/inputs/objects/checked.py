"""Checks of input objects: the result of each object, and all its errors.

Readers without such a check stop at the first error.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import msgspec

from stretto.base.errors import InputError


class CheckedObject(msgspec.Struct, frozen=True):
    """One object of an input, checked."""

    #: ``Kind namespace/name``.
    object: str
    #: Number of pods: those of a controller, or the pod itself.
    pods: int = 0
    #: Its errors; empty for a valid object.
    errors: tuple[str, ...] = ()


class ObjectChecks:
    """Collects the pods and the errors of each object."""

    def __init__(self) -> None:
        """Start without objects."""
        #: Errors of the input as a whole, such as a cycle of owners.
        self.errors: list[str] = []
        #: Refusals of admission, which depend on objects that may exist in the cluster.
        self.refused: list[str] = []
        self._pods: dict[str, int] = {}
        self._errors: dict[str, list[str]] = {}
        self._workloads: dict[str, str] = {}

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Collect an input error of an object, or of the whole input for the empty name.

        The pods of a workload have one template, so only the first error of a workload is
        collected.
        """
        workload = self._workloads.get(name, name)
        errors = self._errors.setdefault(workload, []) if name else self.errors
        try:
            yield
        except InputError as error:
            if workload == name or not errors:
                errors.append(str(error))

    def belongs(self, pods: Iterable[str], workload: str) -> None:
        """Attribute pods, and their errors, to the workload that creates them."""
        self._workloads.update(dict.fromkeys(pods, workload))

    def made(self, name: str, pods: int) -> None:
        """Add to the number of pods of an object."""
        workload = self._workloads.get(name, name)
        self._pods[workload] = self._pods.get(workload, 0) + pods

    @property
    def is_clean(self) -> bool:
        """True if no error or refusal has been collected."""
        return not (self.errors or self.refused or any(self._errors.values()))

    def objects(self) -> tuple[CheckedObject, ...]:
        """The objects, in the order of reading."""
        return tuple(
            CheckedObject(name, self._pods.get(name, 0), tuple(errors))
            for name, errors in self._errors.items()
        )


def checking(checks: ObjectChecks | None, name: str) -> AbstractContextManager[None]:
    """Collect the errors of an object; without ``checks`` they are raised."""
    return nullcontext() if checks is None else checks.of(name)
