"""A task in one folder: find the line behind noisy points. Tests copy it into a checkout."""
