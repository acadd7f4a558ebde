"""Decaying histograms of use and what is read from them: peaks and recommendations.

Here belong distributions over time. Decisions about nodes do not.
"""
