"""Frameworks: their subscriptions and their calls.

This package contains decisions about one framework. It contains neither ACCEPT, which has its own
package, nor HTTP.
"""
