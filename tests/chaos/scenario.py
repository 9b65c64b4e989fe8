"""Random flows with effects that are counted outside: retries, forms, nesting, parallel and repeated phases."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

EFFECT = str(Path(__file__).with_name("effect.sh"))
VARIABLES = ("CHAOS_STAGE", "CHAOS_REGION")
FORM = {"name": "Ada", "really": True}


class Scenario:
    """The flows of one case, and what a person answers. The same seed gives the same scenario."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.flows: dict[str, dict[str, Any]] = {}
        self.refs: list[str] = []
        self.answers: dict[str, Any] = {}
        self.forms = 0
        child = self._flow(range(1, 3), "c", nests=False)
        self.flows["child"] = {"params": {"given": {"required": True}}, **child}
        self.refs = []
        self.flows["main"] = self._flow(range(2, 5), "p", nests=True)

    def write(self, project: Path) -> None:
        folder = project / ".handrail" / "flows"
        folder.mkdir(parents=True)
        for name, flow in self.flows.items():
            (folder / f"{name}.json").write_text(json.dumps(flow))

    def _flow(self, sizes: range, prefix: str, *, nests: bool) -> dict[str, Any]:
        count = self.chance.choice(sizes) + 1
        phases = [self._phase(f"{prefix}{number}", nests=nests) for number in range(count)]
        last = {"id": "last", "steps": [{"id": "sum", "node": "set", "params": self._all_values()}]}
        return {"env": list(VARIABLES), "phases": [*phases, last]}

    def _all_values(self) -> dict[str, Any]:
        """Everything that earlier steps made, and the environment as the flow sees it at its end."""
        values = {f"v{number}": ref for number, ref in enumerate(self.refs)}
        return {**values, **{name: f"${{context.env.{name}}}" for name in VARIABLES}}

    def _phase(self, id_: str, *, nests: bool) -> dict[str, Any]:
        kind = self.chance.choice(["plain", "plain", "parallel", "repeat", "when"])
        if kind == "repeat":
            steps = [self._effect("s", "${repeat.word}")]
            del steps[0]["reads"]
            inner = {"id": f"{id_}-${{index}}", "steps": steps}
            return {"repeat": {"over": ["one", "two", "three"], "item": "word", "max": 5}, "phases": [inner]}
        steps = [self._step(f"s{number}", id_, nests=nests) for number in range(self.chance.randint(1, 3))]
        phase: dict[str, Any] = {"id": id_, "steps": steps}
        if kind == "parallel":
            phase["parallel"] = 2
        if kind == "when":
            phase["when"] = {"equals": [f"${{context.env.{VARIABLES[0]}}}", "first"]}
        else:
            self.refs.extend(f"${{steps.{id_}.{step['id']}.outputs{step.pop('reads')}}}" for step in steps)
        for step in steps:
            step.pop("reads", None)
        return phase

    def _step(self, id_: str, phase: str, *, nests: bool) -> dict[str, Any]:
        kind = self.chance.choice(["effect", "effect", "effect", "set", "file", "form", "child" if nests else "effect"])
        if kind == "set":
            return {"id": id_, "node": "set", "params": {"x": self._value()}, "reads": ".x"}
        if kind == "file":
            name = f"{phase}-{id_}.txt"
            written = {"path": name, "text": f"text {self._value()}"}
            return {"id": id_, "node": "write-file", "params": written, "makes": [name], "reads": ".path"}
        if kind == "form" and self.forms < 2:
            self.forms += 1
            form = f"form-{phase}-{id_}"
            self.answers[form] = FORM
            fields = [
                {"id": "name", "type": "text", "label": "Whose?", "required": True},
                {"id": "really", "type": "boolean", "label": "Really?"},
            ]
            params: dict[str, Any] = {
                "formId": form,
                "title": form,
                "fields": {"const": fields},
                "outputFile": f"{form}.json",
            }
            return {"id": id_, "node": "user-input", "params": params, "reads": ".values.name"}
        if kind == "child":
            params = {"fileName": "child", "given": self._value()}
            return {"id": id_, "node": "flow-run", "params": params, "reads": ".executionState.terminationOutcome"}
        return self._effect(id_, self._value())

    def _effect(self, id_: str, value: str) -> dict[str, Any]:
        failures = self.chance.choice([0, 0, 0, 1, 2])
        seconds = self.chance.choice(["0", "0", "0.02", "0.2"])
        step = {
            "id": id_,
            "node": "command",
            "params": {"argv": ["/bin/sh", EFFECT, seconds, str(failures), value]},
            "reads": ".exitCode",
        }
        if failures:
            step["retry"] = {"attempts": failures + 1, "wait": 0}
        return step

    def _value(self) -> str:
        """A text with the environment in it: what a later life must not see changed."""
        return f"{self.chance.randint(0, 99)}-${{context.env.{self.chance.choice(VARIABLES)}}}"
