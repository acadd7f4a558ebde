"""Frameworks: their subscriptions and their calls.

Here: decisions about one framework. Not here: ACCEPT, which is large, and HTTP.
"""
