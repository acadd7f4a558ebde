"""Levels of pod security, and the policy in the labels of a namespace."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from stretto.api.checks.fields.errors import Errors, invalid

PREFIX: Final = "pod-security.kubernetes.io/"
NEWEST: Final = 36
"""Minor version of Kubernetes whose rules ``latest`` stands for."""
_VERSION: Final = re.compile(r"v1\.(0|[1-9][0-9]*)")


class SecurityLevel(IntEnum):
    """Level of a policy, from the least to the most strict."""

    PRIVILEGED = 0
    BASELINE = 1
    RESTRICTED = 2


_LEVELS: Final = {each.name.lower(): each for each in SecurityLevel}


@dataclass(frozen=True)
class VersionedLevel:
    """A level with the version of its rules; as text ``baseline:v1.30``."""

    #: The level.
    level: SecurityLevel = SecurityLevel.PRIVILEGED
    #: Minor version; ``None``: the latest.
    minor: int | None = None

    @property
    def effective_minor(self) -> int:
        """The minor version whose rules apply."""
        return NEWEST if self.minor is None else min(self.minor, NEWEST)

    def __str__(self) -> str:
        version = "latest" if self.minor is None else f"v1.{self.minor}"
        return f"{self.level.name.lower()}:{version}"


@dataclass(frozen=True)
class SecurityPolicy:
    """Levels of a namespace, and the reaction to pods above them."""

    #: Level above which pods are refused.
    enforce: VersionedLevel = VersionedLevel()
    #: Level above which pods are recorded in the audit log.
    audit: VersionedLevel = VersionedLevel()
    #: Level above which pods yield a warning.
    warn: VersionedLevel = VersionedLevel()


PRIVILEGED: Final = SecurityPolicy()
"""The policy of a namespace without labels of pod security."""


def policy_of(labels: Mapping[str, str]) -> tuple[SecurityPolicy, Errors]:
    """The policy of a namespace, and the errors of unreadable labels.

    An unreadable level means ``restricted`` for ``enforce`` and ``privileged`` otherwise; an
    unreadable version means the latest.
    """
    errors: Errors = []
    if not any(each.startswith(PREFIX) for each in labels):
        return PRIVILEGED, errors
    modes = {}
    for mode in ("enforce", "audit", "warn"):
        lenient = SecurityLevel.RESTRICTED if mode == "enforce" else SecurityLevel.PRIVILEGED
        modes[mode] = VersionedLevel(
            _level(labels, mode, lenient, errors), _minor(labels, f"{mode}-version", errors)
        )
    enforce, warn = modes["enforce"], modes["warn"]
    stated = labels.get(f"{PREFIX}enforce", "") in _LEVELS
    if f"{PREFIX}warn" not in labels and stated and enforce.level > warn.level:
        warn = replace(warn, level=enforce.level)
        if f"{PREFIX}warn-version" not in labels:
            warn = replace(warn, minor=enforce.minor)
    return SecurityPolicy(enforce, modes["audit"], warn), errors


def _level(
    labels: Mapping[str, str], mode: str, unreadable: SecurityLevel, errors: Errors
) -> SecurityLevel:
    text = labels.get(PREFIX + mode)
    if text is None:
        return SecurityLevel.PRIVILEGED
    if text not in _LEVELS:
        errors.append(
            invalid(
                f"metadata.labels[{PREFIX}{mode}]", text, f"must be one of {', '.join(_LEVELS)}"
            )
        )
        return unreadable
    return _LEVELS[text]


def _minor(labels: Mapping[str, str], mode: str, errors: Errors) -> int | None:
    text = labels.get(PREFIX + mode)
    if text in (None, "latest"):
        return None
    found = _VERSION.fullmatch(str(text))
    if found is None:
        path = f"metadata.labels[{PREFIX}{mode}]"
        errors.append(invalid(path, text, 'must be "latest" or "v1.x"'))
        return None
    return int(found[1])
