"""Traces of many files as their owners publish them, one module for each."""
