"""One ACCEPT while its operations are applied."""

from typing import Final

from stretto.offers.master.resources.items import ResourceList
from stretto.offers.master.state.agents import Agent
from stretto.offers.master.state.frameworks import Framework


class Acceptance:
    """The capacity of accepted offers: the rest, and the launched tasks."""

    def __init__(self, framework: Framework, agent: Agent, offered: ResourceList) -> None:
        """Take the sum of the accepted offers."""
        #: The framework.
        self.framework: Final = framework
        #: The agent of the offers.
        self.agent: Final = agent
        #: The sum in the form in which operations have left it; without launched parts.
        self.remaining = offered
        #: The sum as it was offered.
        self.offered: Final = offered
        #: Use of tasks and executors.
        self.launched = ResourceList()

    def convert(self, remaining: ResourceList) -> None:
        """An operation has changed the form of a part."""
        self.remaining = remaining

    def launch(self, resources: ResourceList) -> None:
        """Tasks and executors use a part."""
        self.remaining = self.remaining - resources
        self.launched = self.launched + resources
