"""The fault simulator of resource offers: random frameworks, agents, roles and quota, and laws."""
