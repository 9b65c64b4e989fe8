"""Screens that ask a person something, or that start something: forms, approvals, launches, the catalog."""
