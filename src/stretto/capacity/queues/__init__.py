"""Shares of queues after Volcano's plugins proportion and capacity.

Here belong the deserved amounts of flat queues and of trees, and the decisions that follow from
them, as functions of values. The queues of the engine are in ``state.queues``.
"""
