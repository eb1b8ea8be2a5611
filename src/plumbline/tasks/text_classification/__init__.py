"""Route a short text to one of K classes."""
