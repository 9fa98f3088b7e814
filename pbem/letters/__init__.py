"""What we say: the table of notices, templates put into words, several letters in one. Facts in, words out."""
