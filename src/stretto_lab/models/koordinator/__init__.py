"""Decisions of Koordinator as functions of values.

The product has its own rules over columns: ``LoadAware`` is in ``stretto.framework.plugins``, moves
from hot nodes are in ``stretto.control.controllers``. CPUs and NUMA nodes are in
``stretto.state.numa``.
"""
