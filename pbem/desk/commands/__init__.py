"""One function a command; each is found through the row of its name in the table of commands."""
