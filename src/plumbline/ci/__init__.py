"""What workflows on GitHub call."""
