"""What a step can do: nodes, the checks of its result, the services that nodes call, and the playbook."""
