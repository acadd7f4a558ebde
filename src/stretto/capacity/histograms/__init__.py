"""Decaying histograms of use, and the peaks and recommendations from them.

Here belong distributions over time. Decisions about nodes do not.
"""
