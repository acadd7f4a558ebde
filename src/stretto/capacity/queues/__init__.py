"""Shares of queues after Volcano's plugins proportion and capacity.

This folder contains the deserved amounts of flat queues and of trees, and the resulting decisions,
as functions of values. The queues of the engine are in ``state.queues``.
"""
