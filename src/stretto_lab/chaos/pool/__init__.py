"""The fault simulator of one pool: pods and tasks of frameworks over one store."""
