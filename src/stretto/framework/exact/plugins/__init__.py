"""kube-scheduler's default plugins, one file each, under upstream's names.

A plugin reads the snapshot and answers with values; plugins do not import one another, and only
``table`` knows them all. Nothing that two of them need lives here: it stands one room above.
"""
