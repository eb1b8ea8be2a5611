"""The runner of Great Expectations."""
