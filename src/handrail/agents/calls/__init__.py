"""What all hosts share: the answers to hooks, the tool `workflow_step`, and the installer."""
