"""The wording of letters: the templates, several letters in one. Facts in, words out."""
