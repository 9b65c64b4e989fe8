"""The node `@ID@/hello`: writes a greeting to a file."""

import os

from handrail.extensions.contracts import Field, Node, NodeContext, NodeError, Work

NODE = Node(
    about="Writes a greeting to a file of the project.",
    params=(
        Field("name", ("text",), "who is greeted", required=True),
        Field("path", ("text",), "the file to write", default="hello.txt", names="path"),
    ),
    outputs={"text": "the greeting", "path": "the file that was written"},
    makes=("path",),
)


async def run(work: Work, context: NodeContext) -> dict[str, str]:
    text = f"hello, {work.params['name']}"
    path = work.params.get("path") or "hello.txt"
    try:
        with open(os.path.join(context.project, path), "w", encoding="utf-8") as file:
            file.write(f"{text}\n")
    except OSError as error:
        raise NodeError("hello-unwritten", f"`{path}` cannot be written: {error.strerror}") from error
    return {"text": text, "path": path}
