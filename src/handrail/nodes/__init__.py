"""One file a node: what a step of a flow does. Each has `RERUN` and `async def run(work, context)`."""
