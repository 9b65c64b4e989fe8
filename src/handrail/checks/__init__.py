"""One file per kind of check. Each has `CHECK = Check(...)` and `async def verify(params, context)`."""
