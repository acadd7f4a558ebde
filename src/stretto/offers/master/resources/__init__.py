"""Resources as Mesos' messages list them: an order, exact arithmetic, formats and texts.

Here: lists of resources and operations on them. Not here: shares, quota and offers.
"""
