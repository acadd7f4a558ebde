"""HULK's host actors: each host answers the claims in its mailbox, first come, first served.

Here belong mailboxes, tentative claims, and the judge that sends claims to them. The check of a
single claim is that of the other conflict modes.
"""
