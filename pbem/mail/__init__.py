"""Mail: received bytes to letters, letters to bytes that are sent, and the command language of letters."""
