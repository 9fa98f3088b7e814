"""The wording of letters: the table of notices, the templates, several letters in one. Facts in, words out."""
