"""HULK's host actors: each host answers the claims in its mailbox, first come, first served.

This folder contains mailboxes, tentative claims, and the judge that sends claims to the mailboxes.
A single claim is checked as in the other conflict modes.
"""
