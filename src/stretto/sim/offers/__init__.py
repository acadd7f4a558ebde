"""Resource offers in virtual time: a master without wires, agents without processes, frameworks."""
