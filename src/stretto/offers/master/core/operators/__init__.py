"""Actions of operators: reservations, quota, weights, maintenance, drains.

Here: decisions with the texts of Mesos, as verdicts. Not here: the form of HTTP requests.
"""
