"""Reports, pages and plots."""
