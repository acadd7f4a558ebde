"""Admission of writes over the API: the rules of ``stretto.api.admission`` on stored objects."""
