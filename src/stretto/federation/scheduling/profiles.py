"""From a SchedulingProfile to the plugins of each stage."""

from collections.abc import Sequence
from typing import Final

from stretto.api.types.federation.objects import PluginSet, SchedulingProfileSpec
from stretto.federation.scheduling.kubeadmiral import DEFAULT, ClusterProfile

_ALL: Final = "*"


def profile_of(spec: SchedulingProfileSpec | None) -> ClusterProfile:
    """The plugins of a profile; those of the default without one.

    Raises:
        UnknownNameError: a plugin is unknown.
    """
    if spec is None or spec.plugins is None:
        return DEFAULT
    plugins = spec.plugins
    return ClusterProfile(
        _changed(DEFAULT.filters, plugins.filter),
        _changed(DEFAULT.scores, plugins.score),
        _changed(DEFAULT.selectors, plugins.select),
    )


def _changed(names: Sequence[str], changes: PluginSet) -> tuple[str, ...]:
    """Default plugins without the disabled ones, then the enabled ones."""
    disabled = {each.name for each in changes.disabled}
    kept = () if _ALL in disabled else tuple(name for name in names if name not in disabled)
    return kept + tuple(each.name for each in changes.enabled if each.name not in kept)
