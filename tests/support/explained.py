"""Explanations of the pods of a harness, with the facts of its dispatcher."""

from stretto.explain.why.answers import Explanation
from stretto.explain.why.remedies.remedy import CureKind
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.why import explain_pod
from stretto.explain.words.reasons import Reason
from stretto.testing import Harness


def explained(harness: Harness, pod: str) -> Explanation:
    """Why a pod is where it is, or pending."""
    plane = harness.plane
    views = plane.dispatcher.views
    return explain_pod(live_scene(plane.cluster, plane.config.profile, plane.units, views), pod)


def dominant(harness: Harness, pod: str) -> Reason:
    """The dominant reason of a pending pod."""
    found = explained(harness, pod).dominant
    assert found is not None
    return found


def cure_sentences(said: Explanation, kind: CureKind) -> list[str]:
    """The sentences of the cures of one kind."""
    return [each.sentence for each in said.cures if each.kind is kind]
