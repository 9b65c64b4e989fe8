"""Reads the steps of a phase: node, params, prompt, expectations.

A prompt is text with `${...}` in it, or a template with variables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from handrail.base.dataclasses import replace
from handrail.base.errors import DefinitionError
from handrail.driven.artifacts.names import NOT_PROVIDED
from handrail.driven.expressions.parser import ExpressionReader, TemplateText
from handrail.driven.expressions.tree import SCOPES, Const, Expression, as_data
from handrail.driven.flows import step_values
from handrail.driven.flows.keys import AFTER, ALL_TEXTS, MAX_SECONDS, PROMPT, RETRY, STEP, UNATTENDED
from handrail.driven.flows.load_state import Enclosure, LoadState, NestedFlow, PlaceReferences
from handrail.driven.flows.plan import AfterAction, MadeFile, Prompt, Retry, Step
from handrail.driven.flows.prompts import PromptFile, optional_names
from handrail.driven.flows.shipped_flows import SHIPPED_SOURCE
from handrail.extensions import contracts
from handrail.source.field_checks import check_bounds, check_fields, plain_data, refuse_unknown
from handrail.source.fields import MappingReader, found, quoted
from handrail.source.suggestions import did_you_mean
from handrail.source.templates import placeholders
from handrail.source.tree import TreeNode
from handrail.source.values import DURATION_EXAMPLE, is_true, parse_duration

_REFERENCE = re.compile(r"\$\{\s*((?:" + "|".join(SCOPES) + r")\.[^{}]*?)\s*\}")

_WRITTEN = re.compile(r"\b(?:[Ww]rite|to) `\{(\w+_file)\}`")
"""How prompts name a file that the agent writes."""


def read_prompt(flow: LoadState, node: TreeNode, expressions: ExpressionReader) -> Prompt:
    if node.kind == "text":
        _refuse_blank(flow, node)
        return Prompt(name=None, text="", names=(), values=(), extra=expressions.plain(node), plain=True)
    prompt = flow.reader(node, PROMPT)
    template, inline, form = (prompt.text(name) for name in ("templateRef", "inlineTemplate", "format"))
    if template is None and inline is None and not {"templateRef", "inlineTemplate"} & node.value.keys():
        hint = "write the prompt itself as `inlineTemplate: ...`"
        prompt.on(node, "prompt-template", "a prompt needs `templateRef` or `inlineTemplate`", hint)
    variables, extra = prompt.child("vars"), prompt.child("extraPrompt")
    members: dict[str, TreeNode] = variables.value if variables is not None else {}
    values, text = {name: expressions.value(child) for name, child in members.items()}, ""
    if inline is not None:
        _refuse_blank(flow, node.value["inlineTemplate"])
        inline = expressions.fill(inline)
        expressions.templates.append(TemplateText(inline, node.value["inlineTemplate"], variables))
        text, references = _references(inline, node.value["inlineTemplate"], expressions)
        values |= references
    elif template is not None:
        text = _prompt_text(prompt, template, node.value["templateRef"], flow.resources.prompts)
        missing_names = [name for name in dict.fromkeys(_WRITTEN.findall(text)) if name not in members]
        for name in missing_names:
            message = f"the prompt `{template}` tells the agent to write `{{{name}}}`, but no path is given for it"
            hint = f"add `{name}:` to `vars`, with the path of the file"
            prompt.on(node.value["templateRef"], "prompt-output", message, hint)
        optional = optional_names(text)
        values |= {f"{name}?": values.get(name, Const(NOT_PROVIDED)) for name in optional}
        if flow.source.is_foreign:
            values |= {name: Const(NOT_PROVIDED) for name, _ in placeholders(text) if name not in values}
        elif text:
            visible_text = _as_checked(text, missing_names, [name for name in optional if name in members])
            is_shipped = flow.resources.prompts[template].source == SHIPPED_SOURCE
            expressions.templates.append(TemplateText(visible_text, node.value["templateRef"], variables, is_shipped))
    return Prompt(
        name=template if inline is None else None,
        text=text,
        names=tuple(values),
        values=tuple(values.values()),
        extra=expressions.value(extra) if extra is not None else None,
        plain=form == "plain" if form is not None else not flow.source.is_foreign,
    )


def _as_checked(text: str, missing: list[str], given: list[str]) -> str:
    """The prompt as its placeholders are checked: those that were reported are left out, optional ones are given."""
    for name in missing:
        text = text.replace(f"{{{name}}}", "")
    for name in given:
        text = text.replace(f"{{{name}?}}", f"{{{name}}}")
    return text


def _refuse_blank(flow: LoadState, node: TreeNode) -> None:
    if not node.value.strip():
        flow.problem(node, "blank-text", "the prompt is blank", "write what the agent has to do")


def _prompt_text(prompt: MappingReader, name: str, node: TreeNode, known: Mapping[str, PromptFile]) -> str:
    """The text of a prompt of the catalog; empty if it cannot be used."""
    if name not in known:
        hint = did_you_mean(name, known) or "correct the name, or write the prompt itself as `inlineTemplate: ...`"
        prompt.on(node, "prompt-unknown", f"there is no prompt `{name}`", hint)
        return ""
    try:
        return known[name].text
    except DefinitionError as error:
        prompt.on(node, "prompt-broken", error.message, error.hint)
        return ""


def _references(text: str, node: TreeNode, expressions: ExpressionReader) -> tuple[str, dict[str, Expression]]:
    """Replace each `${params.x}` in a template by a generated variable. Any other `${...}` stays."""
    references: dict[str, Expression] = {}

    def replace_reference(match: re.Match[str]) -> str:
        name = f"_{len(references)}"
        references[name] = expressions.ref(match[1], node)
        return "{" + name + "}"

    return _REFERENCE.sub(replace_reference, text), references


def _long_form(flow: LoadState, item: TreeNode) -> TreeNode:
    """A step as a mapping with `node`: `run: LINE` is short for a `command`. The same in each round."""
    run = item.value.get("run")
    if run is None or flow.source.is_foreign:
        return item
    if (known := flow.long_forms.get(id(item))) is not None:
        return known
    params = item.value.get("params") or run._replace(kind="mapping", value={}, keys={})
    if "node" in item.value or (params.kind == "mapping" and "argv" in params.value):
        hint = "keep `run`, or write the command as `params: {argv: [PROGRAM, ARGUMENT]}` of `node: command`"
        flow.problem(run, "bad-value", "a step with `run` takes neither `node` nor `argv`", hint)
    elif run.kind not in ("text", "list"):
        flow.problem(run, "wrong-type", f"`run` has to be text or a list, found {found(run)}", "write `run: make test`")
    elif run.kind == "text" and "${" in run.value:
        hint = 'write `params: {env: {NAME: "${...}"}}` beside `run`, and `$NAME` in the line'
        flow.problem(run, "bad-value", "a line for the shell takes no `${...}`, because the shell would read it", hint)
    elif run.kind == "text" and not run.value.strip():
        flow.problem(run, "blank-text", "`run` is blank", "write a command, such as `make test`")
    line = run.value if run.kind == "text" and "${" not in run.value else "true"
    words = [run._replace(kind="text", value=word) for word in ("/bin/sh", "-c", line)]
    argv = run if run.kind == "list" else run._replace(kind="list", value=words)
    values = {name: value for name, value in item.value.items() if name != "run"} | {
        "node": run._replace(kind="text", value="command"),
        "params": params._replace(value={**params.value, "argv": argv}) if params.kind == "mapping" else params,
    }
    return flow.long_forms.setdefault(id(item), item._replace(value=values))


FORM_ID = "formId"
_UNKNOWN = contracts.Node(about="", prompt="optional", others="used", open_outputs=True)


class StepsReader:
    """Reads the steps of one phase in one round. `is_conditional`: the phase has a `when`."""

    def __init__(self, flow: LoadState, phase: int, enclosure: Enclosure, is_conditional: bool) -> None:
        self.flow = flow
        self.phase = phase
        self.enclosure = enclosure
        self.is_conditional = is_conditional

    def read(self, node: TreeNode) -> tuple[Step, ...]:
        steps: list[Step] = []
        lines: dict[str, int] = {}
        for item in node.value:
            if item.kind != "mapping":
                message = f"a step has to be a mapping, found {found(item)}"
                self.flow.problem(item, "wrong-type", message, "write `id:` and `node:`")
                continue
            step = self.cached_step(_long_form(self.flow, item), len(steps))
            if step.id in lines:
                hint = f"the first one is on line {lines[step.id]}; give each step its own id"
                message = f"step id `{step.id}` is used twice in this phase"
                self.flow.problem(item.value["id"], "step-id-twice", message, hint)
            elif step.id:
                lines[step.id] = item.value["id"].line
            steps.append(step)
        return tuple(steps)

    def misplaced_params(self, item: TreeNode) -> dict[str, str]:
        """The params of the node that are written beside `params`, and where they belong."""
        kind = item.value.get("node")
        declared = self.flow.resources.nodes.get(kind.value) if kind is not None and kind.kind == "text" else None
        if declared is None or self.flow.source.is_foreign:
            return {}
        names = [name for name in item.keys if name in declared.shape.by_name and name not in STEP.by_name]
        return {name: f"it is a param of `{kind.value}`: write `params: {{{name}: ...}}`" for name in names}

    def cached_step(self, item: TreeNode, number: int) -> Step:
        """A step. If it has no problem and nothing of it depends on the round, it is read once, for all rounds.

        Its references are checked in each round.
        """
        flow = self.flow
        if id(item) in flow.same_in_rounds:
            step, slots = flow.same_in_rounds[id(item)]
            flow.slots += [replace(slot, phase=self.phase, enclosure=self.enclosure) for slot in slots]
            return step
        counts, count = (flow.reports, flow.of_round), len(flow.slots)
        step = self.step(flow.reader(item, STEP, self.misplaced_params(item)), number)
        if self.enclosure.within and (flow.reports, flow.of_round) == counts:
            flow.same_in_rounds[id(item)] = step, tuple(flow.slots[count:])
        return step

    def step(self, reader: MappingReader, number: int) -> Step:
        when_reader, input_reader, result_reader = (self.flow.expressions(self.enclosure) for _ in range(3))
        node = reader.text("node") or ""
        declared = self.declaration(reader, node)
        when, is_conditional = read_when(self.flow, reader, when_reader, "step")
        stop_if, rerun = reader.child("stopFlowIf"), reader.text("rerun")
        id_ = input_reader.fill(reader.text("id") or "")
        step = Step(
            id=id_,
            node=node,
            when=when,
            params=self.params(reader, input_reader, declared, id_),
            prompt=self.prompt(reader, input_reader, declared),
            expect=step_values.read_expectations(self.flow, reader, result_reader),
            stop_if=result_reader.condition(stop_if) if stop_if is not None else None,
            stop_outcome=reader.text("stopFlowOutcome") or ("stopped" if declared.stops else "success"),
            after=self.after(reader, result_reader),
            routing_group=reader.text("routingGroup"),
            retry=self.retry(reader),
            timeout=read_timeout(reader),
            rerun=rerun,
            makes=step_values.read_makes(self.flow, reader, result_reader),
            policy=rerun or ("ask" if declared.nests else declared.rerun),
            declared=declared,
            line=reader.node.line,
        )
        self.check_routing(reader, declared, step)
        step = self.with_deadline(reader, input_reader, step)
        place = PlaceReferences(
            phase=self.phase, enclosure=self.enclosure, step=number, is_shielded=self.is_conditional
        )
        self.flow.keep(place, when_reader)
        self.flow.keep(place := replace(place, is_shielded=self.is_conditional or is_conditional), input_reader)
        self.flow.keep(replace(place, own=True), result_reader)
        # the files that params of the node name; as in AgentWeaver, it is enough that they exist
        files = tuple(
            MadeFile(step.params[name], None, declared.schemas.get(name), required=step.expect is None, is_own=False)
            for name in declared.makes
            if name in step.params
        )
        return replace(step, makes=step.makes + files)

    def declaration(self, reader: MappingReader, name: str) -> contracts.Node:
        known = self.flow.resources.nodes
        if name and name not in known:
            hint = did_you_mean(name, known) or "known nodes: " + ", ".join(known)
            reader.on(reader.node.value["node"], "node-unknown", f"there is no node `{name}`", hint)
        elif name:
            self.flow.unusable(name, reader.node.value["node"])
        return known.get(name, _UNKNOWN)

    def params(
        self, reader: MappingReader, expressions: ExpressionReader, declared: contracts.Node, id_: str
    ) -> dict[str, Expression]:
        """The params of the node. A form that has no id gets that of its step."""
        node = reader.child("params")
        members: dict[str, TreeNode] = node.value if node is not None else {}
        params = step_values.read_values(members, declared.shape, expressions)
        place, similar_names = reader.node.value.get("node", reader.node), set[str]()
        if node is not None and self.flow.is_first(node):
            similar_names = self.check_params(node, params, declared, place.value)
        for field in declared.params:
            is_elsewhere = field.name in similar_names or field.name in reader.elsewhere
            if field.required and field.name not in params and not is_elsewhere:
                word = next((name for name in field.also if name in members and name not in declared.shape.by_name), "")
                hint = f"write it instead of `{word}`" if word else f"add `{field.name}:` to `params`"
                reader.on(place, "param-missing", f"`{place.value}` needs the param `{field.name}`", hint)
        if FORM_ID in declared.shape.by_name:
            params.setdefault(FORM_ID, Const(id_))
        nested = params.get(declared.nests) if declared.nests else None
        if declared.nests and isinstance(nested, Const) and isinstance(nested.value, str):
            flow_node = members[declared.nests]
            is_const = flow_node.kind == "mapping" and "const" in flow_node.value
            position = flow_node.value["const"] if is_const else flow_node
            keys, key_place = node.keys.items() if node is not None else (), self.flow.source.key_place
            other_params = tuple((name, key_place(name, place)) for name, place in keys if name != declared.nests)
            self.flow.nested[NestedFlow(nested.value, position.place, other_params)] = None
        return params

    def check_params(
        self, node: TreeNode, params: dict[str, Expression], declared: contracts.Node, kind: str
    ) -> set[str]:
        """Check the params of a node. Returns the known names that unknown params are similar to."""
        known = step_values.plain_params(node, params)
        reader = MappingReader(self.flow.source, known._replace(keys={}), declared.shape, self.flow.report)
        check_fields(reader, step_values.look_up(self.flow))
        if declared.others == "used":
            return set()
        return refuse_unknown(reader, known, kind, only_typos=declared.others == "ignored", beside=STEP.by_name)

    def prompt(self, reader: MappingReader, expressions: ExpressionReader, declared: contracts.Node) -> Prompt | None:
        node = reader.child("prompt")
        if node is None:
            if declared.prompt == "required":
                place = reader.node.value["node"]
                reader.on(place, "prompt-required", f"`{place.value}` needs a prompt", "add `prompt:`")
            return None
        if declared.prompt == "forbidden":
            kind, hint = reader.node.value["node"].value, "remove `prompt`; give the node what it needs in `params`"
            reader.on(node, "prompt-forbidden", f"`{kind}` takes no prompt", hint)
            return None
        return read_prompt(self.flow, node, expressions)

    def check_routing(self, reader: MappingReader, declared: contracts.Node, step: Step) -> None:
        group = reader.node.value.get("routingGroup")
        if group is not None and not declared.routed and step.node in self.flow.resources.nodes:
            message = f"`{step.node}` does not use an agent, so it has no routing group"
            reader.on(group, "routing-group", message, "remove `routingGroup`")
        if declared.must_route and group is None and not any(name in step.params for name in declared.must_route):
            names = " or ".join(f"`{name}`" for name in declared.must_route)
            message, hint = f"`{step.node}` needs `routingGroup` or a param {names}", "add `routingGroup:`"
            reader.on(reader.node.value["node"], "param-missing", message, hint)

    def with_deadline(self, reader: MappingReader, expressions: ExpressionReader, step: Step) -> Step:
        """The step with the deadline of its question, and the answer that is taken then."""
        node, default = reader.child("deadline"), reader.child("default")
        present = node or default
        if present is None:
            return step
        if step.declared.asks is None and step.node in self.flow.resources.nodes:
            message = f"`{step.node}` asks nothing, so it has no `{'deadline' if node else 'default'}`"
            reader.on(present, "deadline", message, "remove it, or give it to the step that asks")
        elif node is None or default is None:
            hint = "add `deadline: 8h`" if node is None else "add `default:`, the answer that is taken then"
            reader.on(present, "deadline", "`deadline` and `default` need each other", hint)
        elif parse_duration(node.value) is None and node.value != UNATTENDED:
            message = f"`deadline` has to be {DURATION_EXAMPLE}, or `{UNATTENDED}`, found {quoted(node)}"
            reader.on(node, "bad-value", message, None)
        else:
            names = step.declared.asks or _field_ids(step.params.get("fields"))
            for name in (name for name in default.value if names and name not in (*names, ALL_TEXTS)):
                hint = did_you_mean(name, names) or f"its fields: {', '.join(names)}"
                reader.on(default.value[name], "deadline", f"the question has no field `{name}`", hint)
            values = {name: expressions.value(value) for name, value in default.value.items()}
            return replace(step, deadline=node.value.strip(), default=values)
        return step

    def after(self, reader: MappingReader, expressions: ExpressionReader) -> tuple[AfterAction, ...]:
        node = reader.child("after")
        actions = []
        for item, kind in step_values.chosen_kinds(self.flow, node, AFTER, "action") if node is not None else ():
            when = item.value.get("when")
            params = {name: expressions.value(value) for name, value in kind.params(item).items()}
            actions.append(AfterAction(kind.kind, expressions.condition(when) if when is not None else None, params))
        return tuple(actions)

    def retry(self, reader: MappingReader) -> Retry:
        value_node: TreeNode | None = reader.node.value.get("retry")
        times = value_node.value if value_node is not None and value_node.kind == "integer" else 3
        node = reader.child("retry", f"write `retry: {{attempts: {times}}}`")
        if node is None:
            return Retry()
        retry = self.flow.reader(node, RETRY)
        attempts, wait, factor = (bounded_number(retry, name) for name in ("attempts", "wait", "factor"))
        return Retry(int(attempts or 1), 1.0 if wait is None else wait, 2.0 if factor is None else factor)


def _field_ids(fields: Expression | None) -> tuple[str, ...]:
    """The ids of the fields of a form; empty if only the run knows them."""
    rows = as_data(fields) if fields is not None else None
    ids = [str(row.get("id")) if isinstance(row, dict) else "${" for row in rows] if isinstance(rows, list) else []
    return () if any("${" in id_ for id_ in ids) else tuple(ids)


def read_when(
    flow: LoadState, reader: MappingReader, expressions: ExpressionReader, what: str
) -> tuple[Expression | None, bool]:
    """The `when` of a phase or a step, and whether it may be skipped. It may not if `when` is `true`."""
    node = reader.child("when")
    if node is None:
        return None, False
    condition = expressions.condition(node)
    is_const = node.kind == "boolean" or (node.kind == "mapping" and next(iter(node.value), None) == "const")
    if not is_const:
        return condition, True
    holds = is_true(node.value if node.kind == "boolean" else plain_data(node.value["const"]))
    if not holds:
        message, hint = f"`when` is always false, so the {what} never runs", "write a condition, or remove the {}"
        flow.problem(node, "never-runs", message, hint.format(what), "warning")
    return condition, not holds


def bounded_number(reader: MappingReader, name: str) -> float | None:
    """A number within the bounds of its field. None if it is missing or out of range."""
    node = reader.child(name)
    is_usable = node is not None and check_bounds(reader, reader.shape.by_name[name], node)
    return float(node.value) if node is not None and is_usable else None


def read_timeout(reader: MappingReader) -> float | None:
    node = reader.child("timeout")
    if node is None:
        return None
    if not 0 < node.value <= MAX_SECONDS:
        message = f"`timeout` has to be a number of seconds, more than 0, found {quoted(node)}"
        reader.on(node, "bad-value", message, f"write a number up to {MAX_SECONDS} (a week)")
        return None
    return float(node.value)
