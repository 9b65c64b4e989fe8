"""GitHub, github.com or Enterprise: issues, pull requests, their reviews and checks."""
