"""Events that may make a class feasible again: the union over the filters that apply to it."""

from stretto.framework.profile.profile import Profile
from stretto.state.cluster.cluster import Cluster
from stretto.state.work.units import Cure


class ClassCures:
    """The relevant events of each class, cached until the class changes."""

    def __init__(self, profile: Profile, cluster: Cluster) -> None:
        """Use the filters of a profile, including those that pods select."""
        self._filters = profile.every_filter
        self._classes = cluster.classes
        self._kept: dict[int, tuple[int, Cure]] = {}

    def of(self, class_id: int) -> Cure:
        """Events that may make an unschedulable class feasible."""
        serial = self._classes.serial(class_id)
        kept = self._kept.get(class_id)
        if kept is not None and kept[0] == serial:
            return kept[1]
        pod = self._classes[class_id]
        cures = Cure.NONE
        for rule in self._filters:
            if rule.signature(pod) is not None:
                cures |= rule.cures(pod)
        self._kept[class_id] = serial, cures
        return cures
