"""The scheduling plugins of an object: those of its profile, with its webhooks."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from stretto.api.kinds.federation import SCHEDULING_PROFILE, WEBHOOK_CONFIGURATION
from stretto.api.types.federation.objects import SchedulingProfile
from stretto.base.errors import InputError
from stretto.federation.fleet import ClusterFleet
from stretto.federation.problems import unaccepted
from stretto.federation.scheduling.plugins import BUILT_IN, DEFAULT, ClusterPlugins, ClusterProfile
from stretto.federation.scheduling.profiles import disabled_in_vain, profile_of, webhooks_of
from stretto.federation.webhooks.plugins import WebhookFailure, WebhookPlugins
from stretto.federation.webhooks.server import WebhookServer
from stretto.federation.webhooks.unit import WebhookSubject
from stretto.reconcile.cache import StoredObject
from stretto.stores.webhooks import WebhookClient

PROFILE_KINDS: Final = (SCHEDULING_PROFILE.kind.kind, WEBHOOK_CONFIGURATION.kind.kind)
"""Kinds of objects that define plugins."""


class ProfileFinder:
    """Finds the plugins of profiles."""

    def __init__(
        self,
        fleet: ClusterFleet,
        webhooks: WebhookClient,
        left_out: Callable[[str], None] | None = None,
    ) -> None:
        """Initialize for the profiles on the host of a fleet.

        Args:
            fleet: the fleet.
            webhooks: client for the calls.
            left_out: called with the problem of each webhook that fails, whose plugins are then
                left out; with ``None`` the settings of the fleet apply.
        """
        self._profiles = fleet.host.follow(SCHEDULING_PROFILE.kind)
        self._servers = fleet.host.follow(WEBHOOK_CONFIGURATION.kind)
        self._webhooks = webhooks
        stays = fleet.settings.keeps_last_placement
        self._failure = WebhookFailure.ENDS if stays else WebhookFailure.REJECTS
        if left_out is not None:
            self._failure = WebhookFailure.PASSES
        self._left_out = left_out or (lambda _: None)
        self._decoded: dict[str, tuple[StoredObject, ClusterProfile]] = {}

    def profile(self, name: str, subject: Callable[[], WebhookSubject]) -> ClusterProfile:
        """The plugins of a profile; the default plugins for an empty name.

        The result for a profile without webhooks is the same object until the profile changes.

        Args:
            name: name of the profile.
            subject: returns the input of its webhooks.

        Raises:
            ObjectProblemError: the profile or one of its webhooks does not exist.
            UnknownNameError: one of its plugins is unknown.
            InputError: the profile or a webhook is malformed.
        """
        if not name:
            return DEFAULT
        found = self._profiles.get("", name)
        if found is None:
            hint = "create it or change schedulingProfile of the policy"
            raise unaccepted("ProfileMissing", f"scheduling profile {name} does not exist: {hint}")
        known = self._decoded.get(name)
        if known is not None and known[0] is found:
            return known[1]
        spec = found.read(SchedulingProfile).spec
        webhooks = webhooks_of(spec)
        made = profile_of(spec, self._called(name, webhooks, subject) if webhooks else BUILT_IN)
        if not webhooks:
            self._decoded[name] = found, made
        return made

    def oddities(self, name: str) -> Iterator[str]:
        """Settings of a readable profile that have no effect, each with a remedy."""
        found = self._profiles.get("", name)
        try:
            spec = found.read(SchedulingProfile).spec if found is not None else None
        except InputError:
            return  # the decision reports the error
        if spec is not None:
            yield from (f"scheduling profile {name}: {x}" for x in disabled_in_vain(spec))

    def _called(
        self, name: str, webhooks: Mapping[str, list[str]], subject: Callable[[], WebhookSubject]
    ) -> ClusterPlugins:
        """All plugins with those of the webhooks of a profile.

        Args:
            name: name of the profile.
            webhooks: the stages of each webhook.
            subject: returns the input of the webhooks.

        Raises:
            ObjectProblemError: a webhook does not exist.
            InputError: a webhook is malformed, or has no path for a stage.
        """
        plugins, about = BUILT_IN, subject()
        for each, stages in sorted(webhooks.items()):
            config = self._servers.get("", each)
            if config is None:
                text = f"webhook {each} of the scheduling profile {name} does not exist"
                hint = "create the SchedulerPluginWebhookConfiguration or change the profile"
                raise unaccepted("WebhookMissing", f"{text}: {hint}")
            server = WebhookServer(config, self._webhooks, about)
            server.check_paths(stages)
            made = WebhookPlugins(server, self._failure, self._left_out)
            plugins = plugins.extended(made.plugins())
        return plugins
