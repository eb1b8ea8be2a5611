"""The winner is registered once, proven to answer alike, and a refusal registers nothing."""
