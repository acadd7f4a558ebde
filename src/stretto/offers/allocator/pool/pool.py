"""The pool: agents, frameworks and roles, and the charges that connect them.

Every charge goes through `hold`, `release` and `use`, so the agent, the role and both sorters
always agree.
"""

from collections.abc import Mapping

from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.offers.allocator.pool.agents import AgentState, AgentTable, HolderKey
from stretto.offers.allocator.pool.contests import ContestIndex
from stretto.offers.allocator.pool.members import FrameworkState, RoleNode, Subscription
from stretto.offers.allocator.pool.roles import RoleTree
from stretto.offers.allocator.sorting.sorter import ClientSorter, PoolTotals
from stretto.offers.allocator.subjects.agents import AgentInfo
from stretto.offers.allocator.subjects.quota import RoleQuota
from stretto.offers.allocator.subjects.settings import AllocatorSettings
from stretto.offers.allocator.values.resources import Resources
from stretto.offers.allocator.values.scalars import add_to

NO_WEIGHTS: Mapping[str, float] = {}


class OfferPool:
    """State of the allocator."""

    def __init__(self, settings: AllocatorSettings, rng: Rng) -> None:
        """Start empty."""
        #: Settings.
        self.settings = settings
        #: Source of random numbers.
        self.rng = rng
        #: Random choice between indivisible items that compete for one target.
        self.item_choice = rng.child("items")
        #: Agents.
        self.agents = AgentTable()
        #: Roles.
        self.roles = RoleTree()
        #: Offers with several holders.
        self.contests = ContestIndex()
        #: Frameworks by id.
        self.frameworks: dict[str, FrameworkState] = {}
        #: Scalar totals of all agents.
        self.totals = PoolTotals(settings.fairness_excluded)
        #: Weights of roles.
        self.weights: dict[str, float] = {}
        #: Weights of frameworks, by id.
        self.framework_weights: dict[str, float] = {}
        #: Order of the roles that have frameworks.
        self.role_sorter = ClientSorter(
            settings.role_sorter, rng.child("roles"), self.totals, self.weights
        )
        #: Number of events that may make any agent offerable again.
        self.opened = 0
        #: Number of changes of holdings.
        self.holdings = 0
        #: Number of revives.
        self.revives = 0
        #: Number of subscriptions, including former ones with holdings.
        self.subscribed = 0

    # ------------------------------------------------------------ subscriptions

    def subscribe(self, framework: FrameworkState, role: str) -> Subscription:
        """The subscription of a framework to a role; created if it does not exist."""
        found = framework.subscriptions.get(role)
        if found is not None:
            return found
        node = self.roles.get(role)
        former = node.frameworks.get(framework.info.id)
        if former is not None:
            former.rejoin(framework)
            framework.subscriptions[role] = former
            return former
        subscription = Subscription(framework, node)
        framework.subscriptions[role] = subscription
        self._track(subscription)
        return subscription

    def subscribe_former(self, framework: FrameworkState, role: str) -> Subscription:
        """The subscription to a role; a created one has ended already."""
        if role not in framework.subscriptions:
            self.subscribe(framework, role).end()
        return framework.subscriptions[role]

    def _track(self, subscription: Subscription) -> None:
        node, path = subscription.role, subscription.framework.info.id
        sorter = node.sorter
        if sorter is None:
            sorter = self._new_sorter(node)
            node.set_sorter(sorter)
            self.role_sorter.add(node.name, node)
            self.role_sorter.set_active(node.name, active=True)
        node.frameworks[path] = subscription
        sorter.add(path, subscription)
        self.subscribed += 1

    def _new_sorter(self, node: RoleNode) -> ClientSorter:
        kind, rng = self.settings.framework_sorter, self.rng.child("frameworks", node.name)
        weights = self.framework_weights if self.settings.framework_weights else NO_WEIGHTS
        return ClientSorter(kind, rng, self.totals, weights)

    def untrack(self, subscription: Subscription) -> None:
        """Remove a subscription that has ended and has no holdings."""
        node, path = subscription.role, subscription.framework.info.id
        if subscription.is_subscribed or subscription.agents or node.sorter is None:
            return
        del node.frameworks[path]
        subscription.framework.subscriptions.pop(node.name, None)
        node.sorter.remove(path)
        self.subscribed -= 1
        if not node.frameworks:
            node.set_sorter(None)
            self.role_sorter.remove(node.name)
            self.roles.trim(node)

    def refresh(self, subscription: Subscription) -> None:
        """Update the sorters after a change of a subscription or framework."""
        node = subscription.role
        if node.sorter is not None:
            node.sorter.set_active(subscription.framework.info.id, subscription.is_active)
            self.refresh_lateness(node)
        self.opened += 1

    def refresh_lateness(self, node: RoleNode) -> None:
        """Mark a role as late if all its active frameworks are late."""
        if not self.settings.decliners_yield or node.sorter is None:
            return
        active = [each for each in node.frameworks.values() if each.is_active]
        self.role_sorter.set_late(
            node.name, bool(active) and all(each.late_until for each in active)
        )

    # ------------------------------------------------------------ charges

    def subscription_of(self, key: HolderKey) -> Subscription | None:
        """The subscription of a holder, including former ones."""
        node = self.roles.find(key[1])
        return None if node is None else node.frameworks.get(key[0])

    def hold(self, agent: AgentState, subscription: Subscription, resources: Resources) -> None:
        """Charge free resources of an agent to a subscription, as one grant."""
        node = subscription.role
        key = (subscription.framework.info.id, node.name)
        if key not in agent.held:
            subscription.count_agents(1)
        agent.take(key, resources)
        self.agents.note(agent)
        self._count(subscription, agent.info.id, resources)

    def count_known(self, agent: AgentState, subscription: Subscription) -> None:
        """Count the holdings of a subscription on an agent from before its framework registered."""
        key = (subscription.framework.info.id, subscription.role.name)
        agent.unknown.discard(key)
        subscription.count_agents(1)
        self._count(subscription, agent.info.id, agent.held[key])
        if key in agent.used:
            self.roles.use(subscription.role, agent.used[key], 1)

    def _count(self, subscription: Subscription, agent: str, resources: Resources) -> None:
        node = subscription.role
        assert node.sorter is not None
        self.holdings += 1
        if self.roles.has_quota:
            self.roles.hold(node, resources, 1)
        self.role_sorter.allocate(node.name, agent, resources)
        node.sorter.allocate(subscription.framework.info.id, agent, resources)

    def release(self, agent: AgentState, key: HolderKey, resources: Resources) -> bool:
        """Free resources of a holder; false if the holder does not have them."""
        if not agent.give_back(key, resources):
            return False
        self.agents.note(agent)
        self._discount(agent, key, resources)
        return True

    def _discount(self, agent: AgentState, key: HolderKey, resources: Resources) -> None:
        subscription = self.subscription_of(key)
        if subscription is None or key in agent.unknown:
            return
        node = subscription.role
        assert node.sorter is not None
        self.holdings += 1
        self.roles.hold(node, resources, -1)
        self.role_sorter.adjust(node.name, agent.info.id, resources, -1)
        node.sorter.adjust(key[0], agent.info.id, resources, -1)
        if key not in agent.held:
            subscription.count_agents(-1)
            self.untrack(subscription)

    def use(self, agent: AgentState, key: HolderKey, resources: Resources, sign: int) -> None:
        """Tasks start (+1) or stop (-1) using held resources."""
        used = agent.used.get(key)
        if sign > 0:
            agent.used[key] = resources if used is None else used + resources
        elif used is not None:
            agent.used[key] = used - resources
            if not agent.used[key]:
                del agent.used[key]
        node = self.roles.find(key[1])
        if node is not None and key[0] in node.frameworks:
            self.roles.use(node, resources, sign)

    def swap(
        self, agent: AgentState, key: HolderKey | None, before: Resources, after: Resources
    ) -> None:
        """Convert resources of an agent to another form, in its total and at their holder."""
        total = agent.info.resources - before + after
        self._replace_total(agent, total)
        if key is not None:
            agent.held[key] = agent.held[key] - before + after
            subscription = self.subscription_of(key)
            if subscription is not None:
                self._swap_counts(subscription, agent.info.id, before, after)
        agent.recount()
        self.agents.note(agent)

    def _swap_counts(
        self, subscription: Subscription, agent: str, before: Resources, after: Resources
    ) -> None:
        node, path = subscription.role, subscription.framework.info.id
        assert node.sorter is not None
        for resources, sign in ((after, 1), (before, -1)):
            self.roles.hold(node, resources, sign)
            self.role_sorter.adjust(node.name, agent, resources, sign)
            node.sorter.adjust(path, agent, resources, sign)

    def set_quota(self, role: str, quota: RoleQuota) -> None:
        """Set or remove the quota of a role, and count the holdings of its subtree."""
        node = self.roles.get(role)
        held: dict[str, int] = {}
        for agent in () if node.holds_nothing else self.agents:
            for key, resources in agent.held.items():
                if key not in agent.unknown and (key[1] + "/").startswith(role + "/"):
                    add_to(held, resources.free)
        self.roles.set_quota(role, quota, held)
        self.opened += 1

    # ------------------------------------------------------------ agents

    def _replace_total(self, agent: AgentState, total: Resources) -> None:
        old = agent.info.resources
        if total.quantities != old.quantities:
            self.totals.change(old.quantities, -1)
            self.totals.change(total.quantities, 1)
        self.roles.reserve(total, 1)
        self.roles.reserve(old, -1)
        agent.replace_total(total)
        self.holdings += 1

    @property
    def maintained(self) -> bool:
        """True if maintenance of any agent is planned."""
        return any(agent.unavailability is not None for agent in self.agents)

    def reopen(self) -> None:
        """Record an event after which any agent may be offered again."""
        self.opened += 1

    def enter(self, info: AgentInfo, used: Mapping[HolderKey, Resources]) -> None:
        """Add an agent with the use of its tasks.

        Raises:
            InputError: an agent with this id exists.
        """
        if self.agents.find(info.id) is not None:
            raise InputError("agent id", info.id, "an id that is not in use", "use update_agent")
        agent = self.agents.add(info)
        self.totals.change(info.resources.quantities, 1)
        self.roles.reserve(info.resources, 1)
        self.holdings += 1
        for key, resources in used.items():
            agent.adopt(key, resources)
            framework = self.frameworks.get(key[0])
            if framework is not None:
                self.count_known(agent, self.subscribe_former(framework, key[1]))
        self.agents.note(agent)

    def update(self, info: AgentInfo) -> bool:
        """Replace the registration of an agent; true if anything changed."""
        agent = self.agents.find(info.id)
        if agent is None or agent.info == info:
            return False
        if agent.info.attributes != info.attributes:
            agent.filters.discard()
        if agent.info.resources != info.resources:
            self._replace_total(agent, info.resources)
        agent.set_info(info)
        agent.recount()
        self.agents.set_active(agent, agent.is_active)
        return True

    def drop(self, name: str) -> None:
        """Remove an agent with all its holdings and filters."""
        agent = self.agents.find(name)
        if agent is None:
            return
        for key, used in list(agent.used.items()):
            self.use(agent, key, used, -1)
        for key in list(agent.held):
            self._discount(agent, key, agent.held.pop(key))
        agent.filters.discard()
        self.agents.remove(agent)
        self.roles.reserve(agent.info.resources, -1)
        self.totals.change(agent.info.resources.quantities, -1)
        self.holdings += 1
