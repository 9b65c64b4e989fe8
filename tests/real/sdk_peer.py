"""A script, not a test: the client of the MCP SDK talks to the server that its arguments start.

It runs in its own environment with the SDK and prints the responses as one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters  # type: ignore[import-not-found]  # only in its own environment
from mcp.client.stdio import stdio_client  # type: ignore[import-not-found]  # only in its own environment


async def converse(conversation: str, command: str, args: list[str]) -> dict[str, Any]:
    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with stdio_client(server) as (reads, writes), ClientSession(reads, writes) as session:
        hello = await session.initialize()
        tools = await session.list_tools()
        await session.send_ping()
        me = {"session_id": conversation}
        status = await session.call_tool("workflow_step", {"action": "status", **me})
        moved = await session.call_tool("workflow_step", {"action": "next", "summary": "looked", **me})
        wrong = await session.call_tool("workflow_step", {"action": "jump", **me})
        return {
            "server": hello.serverInfo.name,
            "tools": [tool.name for tool in tools.tools],
            "status": status.content[0].text,
            "next": moved.content[0].text,
            "refused": wrong.isError,
        }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(converse(sys.argv[1], sys.argv[2], sys.argv[3:]))))
