"""What a master knows: frameworks, agents, tasks, offers, machines, and what it has to send.

Here: objects that own their fields, and tables of them. Not here: decisions and texts of answers.
"""
