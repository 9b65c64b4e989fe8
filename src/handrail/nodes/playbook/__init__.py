"""Nodes for the playbook of a project: the rules that its agents follow."""
