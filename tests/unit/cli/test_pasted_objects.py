"""Plans of objects that are pasted into the dashboard: messages without the temporary file."""

import pytest

from stretto.base.errors import InputError
from stretto.cli.sources.previews import planner_on
from stretto.cli.sources.states import StateContents
from stretto.plane.copy import StoreState

NO_NAME = "apiVersion: v1\nkind: Pod\nmetadata: {}\nspec: {containers: [{name: c, image: i}]}\n"
NO_NUMBER = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: i}], priority: much}
"""


def refusal(text: str) -> str:
    """The refusal of a pasted text."""
    plan = planner_on(lambda: StateContents(StoreState("a state", []), "default"))
    try:
        return "\n".join(plan(text).notes)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("text", [NO_NAME, NO_NUMBER, "a: [", "kind: Pod"])
def test_a_refusal_names_the_pasted_objects(text: str) -> None:
    found = refusal(text)
    assert found.startswith("objects")
    assert "stretto-" not in found
