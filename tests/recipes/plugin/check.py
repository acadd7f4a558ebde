"""The new rule filters nodes in a profile that names it, and only there."""

from stretto.framework.plugins.table import RULES
from stretto.framework.profile.profile import load_profile
from stretto.testing import Harness, make_node, make_pod

assert "RetiredNodes" in RULES
profile = load_profile(
    {"profiles": [{"plugins": {"filter": {"enabled": [{"name": "RetiredNodes"}]}}}]}
)
nodes = [make_node("old", cpu="64", labels={"example.com/retired": "yes"}), make_node("new")]
harness = Harness(nodes, profile=profile)
assert harness.placed(make_pod("a"), make_pod("b")) == {"a": "new", "b": "new"}
