"""How agents call Handrail: their events, the tool `workflow_step`, and the installer."""
