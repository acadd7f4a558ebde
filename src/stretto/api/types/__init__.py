"""The structs of every kind that Stretto decodes, with the fields that scheduling reads."""
