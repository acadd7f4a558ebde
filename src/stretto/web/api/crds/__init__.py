"""Definitions of custom resources: served resources, lifecycle and objects."""
