"""Screens in which a person fills something in: forms, approvals, launches."""
