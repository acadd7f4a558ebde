"""One ACCEPT while its operations are applied."""

from typing import Final

from stretto.offers.master.resources.items import ResourceList
from stretto.offers.master.state.agents import Agent
from stretto.offers.master.state.frameworks import Framework


class Acceptance:
    """The capacity of accepted offers, and its launched part."""

    def __init__(self, framework: Framework, agent: Agent, offered: ResourceList) -> None:
        """Initialize with the sum of the accepted offers."""
        #: The framework.
        self.framework: Final = framework
        #: The agent of the offers.
        self.agent: Final = agent
        #: The sum in its form after the operations so far, without launched parts.
        self.remaining = offered
        #: The sum as it was offered.
        self.offered: Final = offered
        #: Use of tasks and executors.
        self.launched = ResourceList()

    def convert(self, remaining: ResourceList) -> None:
        """Replace the remaining resources after an operation has converted a part."""
        self.remaining = remaining

    def launch(self, resources: ResourceList) -> None:
        """Move resources from the remaining part to the launched part."""
        self.remaining = self.remaining - resources
        self.launched = self.launched + resources
