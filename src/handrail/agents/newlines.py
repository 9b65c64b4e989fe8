"""Follows a file of lines that an agent writes while it works. Shared by the readers of several agents."""

from __future__ import annotations


class NewLines:
    """The lines of a file that another program writes. Each call of `read` returns those that are new and complete."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.offset = 0

    def read(self) -> list[bytes]:
        try:
            with open(self.path, "rb") as file:
                file.seek(self.offset)
                data = file.read()
        except OSError:
            return []
        end = data.rfind(b"\n") + 1
        self.offset += end
        return data[:end].splitlines()
