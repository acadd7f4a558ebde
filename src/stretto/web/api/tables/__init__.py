"""Tables as printed by kubectl: columns and cells of every kind."""
