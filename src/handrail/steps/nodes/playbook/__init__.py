"""Nodes for the playbook of a project: the practices that its agents follow."""
