"""Registered versions and every decision about them."""
