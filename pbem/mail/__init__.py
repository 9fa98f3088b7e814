"""The room `mail`."""
