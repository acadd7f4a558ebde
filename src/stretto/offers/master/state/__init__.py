"""The state of a master: frameworks, agents, tasks, offers, machines, and unsent messages.

Here: objects that own their fields, and tables of them. Not here: decisions and texts of answers.
"""
