"""A real yaml-language-server on stdio, as an editor runs it: opens files, hovers, completes, reads diagnostics."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from real.hosts import CACHE, NODE

SERVER = CACHE.parent / "editors/node_modules/yaml-language-server/bin/yaml-language-server"
_WATCH = """
const net = require('net'), fs = require('fs'), connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function (...given) {
  fs.appendFileSync(process.env.CONNECTIONS, JSON.stringify(given[0]) + '\\n');
  return connect.apply(this, given);
};
"""
_CLIENT = {
    "textDocument": {
        "hover": {"contentFormat": ["markdown"]},
        "completion": {"completionItem": {"documentationFormat": ["markdown"]}},
        "publishDiagnostics": {},
    },
    "workspace": {"configuration": True},
}


class LanguageServer:
    """The server for one folder. It is asked as an editor asks it, with the catalog of public schemas switched off."""

    def __init__(self, folder: Path, home: Path) -> None:
        assert SERVER.exists(), "the language server is not installed; run scripts/editors"
        home.mkdir()
        self.connections = home / "connections"
        watch = home / "watch.cjs"
        watch.write_text(_WATCH)
        env = {"PATH": f"{NODE}:{os.environ['PATH']}", "HOME": str(home), "CONNECTIONS": str(self.connections)}
        self.process = subprocess.Popen(
            [str(NODE / "node"), "--require", str(watch), str(SERVER), "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=env,
        )
        self.number = 0
        self.problems: dict[str, list[dict[str, Any]]] = {}
        asked = {"processId": None, "rootUri": folder.as_uri(), "capabilities": _CLIENT}
        self.request("initialize", asked)
        self.send({"method": "initialized", "params": {}})

    def open(self, file: Path) -> str:
        """Open a file in the editor, and return its address."""
        text = {"uri": file.as_uri(), "languageId": "yaml", "version": 1, "text": file.read_text()}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": text}})
        return file.as_uri()

    def diagnostics(self, file: Path) -> list[tuple[int, str]]:
        """(line, message) of each problem that the editor underlines. Lines count from 1."""
        uri = self.open(file)
        self.read_until(lambda: uri in self.problems)
        return [(found["range"]["start"]["line"] + 1, found["message"]) for found in self.problems[uri]]

    def hover(self, file: Path, word: str) -> str:
        """What the editor shows if the pointer is on the first place of a word."""
        found = self.request("textDocument/hover", self._at(file, word))
        return "" if found is None else str(found["contents"]["value"])

    def complete(self, file: Path, after: str) -> dict[str, str]:
        """What the editor offers after the first place of a text: labels and their explanations."""
        found = self.request("textDocument/completion", self._at(file, after, after))
        items = found["items"] if isinstance(found, dict) else found
        return {item["label"]: _text(item.get("documentation")) for item in items}

    def _at(self, file: Path, word: str, further: str = "") -> dict[str, Any]:
        """The place of a word, or the place after it."""
        uri = self.open(file)
        before = file.read_text().partition(word)[0] + further
        place = {"line": before.count("\n"), "character": len(before.rpartition("\n")[2])}
        return {"textDocument": {"uri": uri}, "position": place}

    def request(self, method: str, params: Any) -> Any:
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        answer: list[Any] = []
        self.read_until(lambda: bool(answer), self.number, answer)
        return answer[0]

    def read_until(self, is_done: Callable[[], bool], number: int = 0, answer: list[Any] | None = None) -> None:
        """Read messages until one has arrived. Requests of the server are answered on the way."""
        while not is_done():
            message = self._read()
            if message.get("method") == "workspace/configuration":
                off = {"schemaStore": {"enable": False}, "hover": True, "completion": True, "validate": True}
                asked = [off if item["section"] == "yaml" else None for item in message["params"]["items"]]
                self.send({"id": message["id"], "result": asked})
            elif message.get("method") == "textDocument/publishDiagnostics":
                self.problems[message["params"]["uri"]] = message["params"]["diagnostics"]
            elif "method" in message and "id" in message:
                self.send({"id": message["id"], "result": None})
            elif message.get("id") == number and answer is not None:
                assert "error" not in message, message["error"]
                answer.append(message["result"])

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while (line := self.process.stdout.readline().strip()) or not length:
            assert line or self.process.poll() is None, "the language server ended"
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        message = json.loads(self.process.stdout.read(length))
        assert isinstance(message, dict)
        return message

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


def _text(documentation: Any) -> str:
    return documentation.get("value", "") if isinstance(documentation, dict) else documentation or ""
