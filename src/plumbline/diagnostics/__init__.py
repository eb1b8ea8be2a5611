"""Commands that examine the installation, the checkout, the registry and the gates."""
