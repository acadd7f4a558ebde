"""Actions of operators: reservations, quota, weights, maintenance, drains.

This package contains decisions with Mesos' texts, as verdicts. It does not contain the form of HTTP
requests.
"""
