"""Tournaments at the desk: kept, directed, by mail and on pages; beside matches, which know nothing of them."""
