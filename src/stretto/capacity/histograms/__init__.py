"""Decaying histograms of use, and the peaks and recommendations from them.

This folder contains distributions over time, but no decisions about nodes.
"""
