"""The files of a plugin that has one thing of each kind, and ways to put it where Handrail finds it."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

from corpus_tools import trusted_plugin
from support import Project

TESTS = Path(__file__).parents[2]
MANIFEST = """\
version = "1.2"
contract = 1
about = "One thing of each kind."

[nodes.shout]
module = "nodes.shout"
also = ["legacy-shout"]

[checks]
loud = "checks.loud"

[agents.robot]
host = "robot.host"
executor = "robot.executor"
signs = { variables = ["ACME_ROBOT"], programs = ["acme-robot"] }

[engines]
twin = "engine"
"""
NODE = """\
from handrail.extensions.contracts import Field, Node

from ..shared import louder

NODE = Node(
    about="Makes a text loud.",
    params=(Field("text", ("text",), "the text", required=True),),
    outputs={"text": "the loud text"},
)


async def run(work, context):
    return {"text": louder(work.params["text"])}
"""
CHECK = """\
from handrail.extensions.contracts import Check, Field, Finding

CHECK = Check(
    about="A text is loud.",
    words="is loud",
    params=(Field("text", ("text",), "the text", required=True),),
    short="text",
)


async def verify(params, context):
    return Finding(params["text"].isupper(), "it is " + ("loud" if params["text"].isupper() else "quiet"))
"""
FLOW = """\
description: Shouts, and lets the robot answer.
params:
  text: {default: hello}
phases:
  - id: a
    steps:
      - id: shout
        node: acme/shout
        params: {text: {ref: params.text}}
        expect:
          - acme/loud: {ref: steps.a.shout.value.text}
      - id: answer
        node: acme/robot-prompt
        prompt: {templateRef: acme/ask}
"""
WORKFLOW = "name: Calm\ncommandName: calm\ninitialMessage: Begin.\nphases: [look.md]\n"
PHASE = "---\nid: look\nname: Look\nemoji: L\nexit:\n  - acme/loud: QUIET?\n---\nLook.\n"
FILES = {
    "plugin.toml": MANIFEST,
    "shared.py": "def louder(text):\n    return text.upper()\n",
    "nodes/shout.py": NODE,
    "checks/loud.py": CHECK,
    "robot/executor.py": (TESTS / "agents" / "toy_executor.py").read_text(encoding="utf-8"),
    "robot/host.py": (TESTS / "agents" / "calls" / "toyhost.py").read_text(encoding="utf-8"),
    "engine.py": "from handrail.driven.engines.embedded.engine import open_engine  # under another name\n",
    "flows/greet.yaml": FLOW,
    "workflows/calm/workflow.yaml": WORKFLOW,
    "workflows/calm/look.md": PHASE,
    "prompts/ask.md": "Say something loud.\n",
    "schemas/text.json": '{"type": "object", "required": ["text"]}\n',
}
SMALL = 'version = "1.0"\ncontract = 1\n\n[nodes]\nact = "act"\n'
ACT = (
    "from handrail.extensions.contracts import Node\n\nNODE = Node(about='Acts.', outputs={'done': 'true'})\n\n\n"
    "async def run(work, context):\n    return {'done': True}\n"
)


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def as_folder(project: Project, files: Mapping[str, str] = FILES, id_: str = "acme", *, trusted: bool = True) -> Path:
    """Put a plugin into the project, and trust it as a person does."""
    folder = write(project.folder / ".handrail" / "plugins" / id_, files)
    if trusted:
        trusted_plugin(project.folder, project.home / "state", id_)
    return folder


def as_wheel(folder: Path, files: Mapping[str, str] = FILES, id_: str = "acme") -> Path:
    """A wheel of a package that is this plugin."""
    package, wheel = f"handrail_{id_}", folder / f"handrail_{id_}-1.2-py3-none-any.whl"
    info = f"{package}-1.2.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{package}/__init__.py", "")
        for name, text in files.items():
            archive.writestr(f"{package}/{name}", text)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", f"[handrail.plugins]\n{id_} = {package}\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """What an installer does with a wheel of pure Python: it unpacks it."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder
