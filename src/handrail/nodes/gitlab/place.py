"""What the nodes of GitLab share: their params, and the merge request that these mean."""

from __future__ import annotations

from typing import Any, NamedTuple

from handrail.contracts import NodeContext, NodeError, Work
from handrail.nodes.outputs import FILES, OUTPUT_FILES
from handrail.nodes.write_file import inside
from handrail.services.references import MergeRequest, merge_request
from handrail.source.fields import Field
from handrail.source.values import as_text

PARAMS = (
    Field("mergeRequestUrl", ("text",), "the address of the merge request", required=True, shortest=1),
    *OUTPUT_FILES,
)


class Place(NamedTuple):
    """A merge request, and the real paths of the files for it."""

    wanted: MergeRequest
    url: str
    real: str
    real_json: str
    outputs: dict[str, Any]


def place(work: Work, context: NodeContext) -> Place:
    url = as_text(work.params["mergeRequestUrl"]).strip()
    output, output_json = (as_text(work.params[name]) for name in FILES)
    real, real_json = inside(context, output), inside(context, output_json)
    if real == real_json:
        raise NodeError("params", "`outputFile` and `outputJsonFile` have to be different", transient=False)
    outputs = {"outputFile": output, "outputJsonFile": output_json, "mergeRequestUrl": url}
    return Place(merge_request(url, context.env), url, real, real_json, outputs)
