"""A real git server over HTTP on loopback: git's own `http-backend`, behind a login."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit


class GitWeb:
    """`root` has the bare repositories. `seen` has the header `Authorization` of every request, None without one."""

    url: str

    def __init__(self, root: Path, login: str | None) -> None:
        self.root = root
        self.login = None if login is None else f"Basic {base64.b64encode(login.encode()).decode()}"
        self.seen: list[str | None] = []
        self.redirect: str | None = None

    def bare(self, name: str) -> Path:
        """A new bare repository that takes pushes."""
        made = self.root / name
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(made)], check=True)
        subprocess.run(["git", "config", "http.receivepack", "true"], cwd=made, check=True)
        return made


class _Handler(BaseHTTPRequestHandler):
    web: GitWeb

    def log_message(self, *words: object) -> None:
        """Print nothing."""

    def _answer(self) -> None:
        web, given = self.web, self.headers.get("Authorization")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        web.seen.append(given)
        if web.redirect is not None:
            return self._end(302, {"Location": f"{web.redirect}{self.path}"})
        if given != web.login:
            return self._end(401, {"WWW-Authenticate": 'Basic realm="git"'})
        parts = urlsplit(self.path)
        env = {
            **os.environ,
            "GIT_PROJECT_ROOT": str(web.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": "ada",
            "REMOTE_ADDR": "127.0.0.1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": parts.path,
            "QUERY_STRING": parts.query,
            "CONTENT_LENGTH": str(len(body)),
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        said = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=True).stdout
        head, _, content = said.partition(b"\r\n\r\n")
        lines = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        status = next((int(value.split()[0]) for name, value in lines if name == "Status"), 200)
        return self._end(status, {name: value for name, value in lines if name != "Status"}, content)

    def _end(self, status: int, headers: dict[str, str], content: bytes = b"") -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = _answer  # noqa: N815 - names that the base class looks for


@contextmanager
def serve_git(root: Path, login: str | None) -> Iterator[GitWeb]:
    """Serve the bare repositories of a folder on loopback. `login` is `user:password`; without one, nobody is asked."""
    web = GitWeb(root, login)
    root.mkdir(parents=True, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"web": web}))
    server.daemon_threads = True
    web.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
