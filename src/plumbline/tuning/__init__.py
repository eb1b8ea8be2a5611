"""A search for better values of a candidate, by Optuna, scored on the validation split alone."""
