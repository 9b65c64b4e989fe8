"""One module per node: what a step of a flow does. Each has `NODE = Node(...)` and `async def run(work, context)`."""
