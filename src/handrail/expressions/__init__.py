"""The language of values and conditions in flows: tree, parser, partial evaluation, words for people."""
