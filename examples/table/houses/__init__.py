"""The price of a house, from a table with numbers, categories and gaps."""
