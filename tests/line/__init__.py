"""A task in one folder: find the line behind noisy points. It is copied into a scratch checkout, and nothing else is."""
