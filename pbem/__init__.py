"""`pbem`: a referee for slow games by e-mail."""
