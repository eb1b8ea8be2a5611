"""How well a predictor recovers the components, against the least error that is possible."""
