"""Executors of frameworks: processes that run tasks and report by the v1 executor API.

Not here: commands and default executors, which the agent runs itself.
"""
