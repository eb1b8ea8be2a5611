"""Check the gates: plant faults in a small pipeline, rehearse a model's life."""
