"""Decisions of Katalyst's scheduler and of its agent as functions of values.

The product has its own ledgers of promised amounts and of NUMA nodes: ``stretto.state.rows`` and
``stretto.state.numa``.
"""
