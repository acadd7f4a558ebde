"""Resource offers in virtual time: a master without HTTP, agents without processes, frameworks."""
