"""The room `store`."""
