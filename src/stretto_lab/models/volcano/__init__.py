"""Shares of queues and scores of nodes after Volcano: proportion, capacity, binpack, usage.

The queues of the product are in ``stretto.state.queues``, its scores in
``stretto.framework.plugins``.
"""
