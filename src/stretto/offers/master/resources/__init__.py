"""Resources as Mesos' messages list them: an order, exact arithmetic, formats and texts.

This package contains lists of resources and operations on them. It contains no shares, no quota and
no offers.
"""
