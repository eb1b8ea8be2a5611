"""What is allowed to be promoted, and why."""
