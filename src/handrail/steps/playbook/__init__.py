"""The playbook of a project: the practices that its people agreed on, and which of them a task needs."""
