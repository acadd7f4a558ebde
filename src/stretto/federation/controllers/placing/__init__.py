"""Where one federated object goes: its policy, its plugins, what clusters offer, the decision."""
