"""Law 7 over a fleet: embedded members, drawn faults, and checks after every step.

This package contains the drawn world, its events and the laws. The controllers are those of the
product.
"""
