"""How good a text classifier is: scores, baselines, bounds, behaviour and figures."""
