"""The expressions of flows, for values and conditions: tree, parser, partial evaluation, text for people."""
