"""One module per kind of check. Each defines `CHECK = Check(...)` and `async def verify(params, context)`."""
