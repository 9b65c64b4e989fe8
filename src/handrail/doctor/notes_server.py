"""A small MCP server that is not Handrail's. Its tool `add` appends a line to the file that is given as argument.

Runs as a program, by the path of this file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TOOL = {
    "name": "add",
    "description": "Add a note.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def result(message: dict[str, Any], file: Path) -> dict[str, Any] | None:
    params = message.get("params") or {}
    match message["method"]:
        case "initialize":
            about = {"name": "notes", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            with file.open("a") as notes:
                notes.write(params["arguments"]["text"] + "\n")
            return {"content": [{"type": "text", "text": "added"}]}
        case _:
            return None


def main(file: Path) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        found = result(message, file)
        answer = {"result": found} if found is not None else {"error": {"code": -32601, "message": "no such method"}}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
