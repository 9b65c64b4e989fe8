"""Plugins that are broken or hostile are refused or contained, by name, and everything else goes on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from extensions.plugins.acme import ACT, FILES, SMALL, as_folder, as_wheel, install, write
from handrail.app import App
from handrail.extensions.plugins import code_import
from handrail.extensions.plugins.search import installed_plugins
from handrail.view.launch import offer_launch
from support import Project

OWN = "phases: [{id: a, steps: [{id: x, node: set, params: {done: true}}]}]"
USES = "phases: [{id: a, steps: [{id: x, node: bad/act}]}]"
TRAP = "import pathlib\npathlib.Path(__file__).parent.joinpath('ran').touch()\n"


def small(act: str, manifest: str = SMALL) -> dict[str, str]:
    return {"plugin.toml": manifest, "act.py": act}


def problems(project: Project, id_: str = "bad") -> list[tuple[str, str]]:
    """(code, message) of what `handrail plugins` says about one plugin."""
    rows = [row for row in project.json("plugins")["plugins"] if row["id"] == id_]
    return [(problem["code"], problem["message"]) for row in rows for problem in row["problems"]]


@pytest.fixture
def flows(project: Project) -> Project:
    project.write(".handrail/flows/own.yaml", OWN)
    project.write(".handrail/flows/uses.yaml", USES)
    return project


BROKEN: Mapping[str, tuple[str, str]] = {
    "import error": ("import nothing_like_this", "No module named 'nothing_like_this' (act.py:1)"),
    "error in a call": ("def f():\n    raise ValueError('no')\nf()", "ValueError: no (act.py:2)"),
    "syntax": ("def (", "SyntaxError"),
    "exit": ("raise SystemExit(0)", "SystemExit: 0 (act.py:1)"),
    "end of the process": ("import os\nos._exit(0)", "its import ended the process with exit code 0"),
    "no NODE": ("x = 1", "`NODE` has to be `Node(...)`"),
    "NODE of another type": ("NODE = {'about': 'x'}", "`NODE` has to be `Node(...)`"),
    "no run": ("from handrail.extensions.contracts import Node\nNODE = Node(about='x')", "there is no function `run`"),
    "other arguments": (ACT.replace("(work, context)", "(work)"), "`run` takes other arguments"),
    "not async": (ACT.replace("async def", "def"), "`run` is not `async`"),
    "params of another type": (ACT.replace("outputs=", "params=('a',), outputs="), "`NODE.params` has to be a tuple"),
    "unknown param": (ACT.replace("outputs=", "makes=('path',), outputs="), "`NODE.makes` names `path`"),
}


@pytest.mark.whole(12)
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_one_is_disabled_and_the_product_goes_on(flows: Project, case: str) -> None:
    act, told = BROKEN[case]
    as_folder(flows, small(act), "bad")
    ((code, message),) = problems(flows)
    assert code == "plugin-broken"
    assert "bad" in message
    assert told in message
    assert flows.run("run", "own").code == 0
    said = flows.run("run", "uses")
    assert said.code == 1
    assert "error: the plugin `bad` is disabled: " in said.err
    assert flows.run("validate").code == 2


@pytest.mark.whole
def test_an_import_that_never_ends_is_ended(flows: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_import, "SECONDS", 1.0)
    as_folder(flows, small("import threading\nthreading.Event().wait()"), "bad")
    assert problems(flows) == [("plugin-broken", "the plugin `bad`: importing it takes longer than 1 seconds")]
    assert "`bad` is disabled" in flows.run("run", "uses").err
    assert flows.run("run", "own").code == 0


@pytest.mark.whole
def test_what_it_prints_never_gets_to_the_standard_output(flows: Project) -> None:
    loud = "print('loud')\nimport os\nos.write(1, b'louder')\n" + ACT
    as_folder(flows, small(loud), "bad")
    ((code, message),) = problems(flows)
    assert (code, "the plugin `bad` prints while it is imported: loud" in message) == ("plugin-prints", True)
    said = flows.process("run", "uses", "--json")
    assert said.code == 0
    assert said.data["status"] == "completed"


def test_an_error_while_it_runs_names_the_plugin(flows: Project) -> None:
    as_folder(flows, small(ACT.replace("return {'done': True}", "raise RuntimeError('boom')")), "bad")
    ended = flows.json("run", "uses", code=1)
    assert "the node `bad/act` of the plugin `bad` failed: RuntimeError: boom (act.py:7)" in ended["error"]


def test_another_version_of_the_contract_is_refused(flows: Project) -> None:
    as_folder(flows, small(TRAP, SMALL.replace("contract = 1", "contract = 2")), "bad", trusted=False)
    ((code, message),) = problems(flows)
    assert (code, "version 2 of the contract" in message) == ("plugin-contract", True)
    assert flows.run("run", "uses").code == 2


def test_nothing_runs_before_a_person_trusts_it(flows: Project) -> None:
    folder = as_folder(flows, small(TRAP + ACT), "bad", trusted=False)
    for argv in (["list"], ["validate"], ["plugins"], ["show", "uses"], ["run", "uses", "--dry-run"], ["doctor"]):
        flows.run(*argv)
    said = flows.run("run", "uses")
    assert said.code == 4
    assert "the plugin `bad` runs code that you do not trust yet" in said.err
    assert not (folder / "ran").exists()
    assert flows.run("plugin", "trust", "bad").code == 4  # there is no terminal
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("trusted", [False, True])
def test_a_launch_form_needs_no_code_of_an_agent_of_a_plugin(project: Project, trusted: bool) -> None:
    files = {**FILES, "robot/executor.py": TRAP + FILES["robot/executor.py"]}
    folder = as_folder(project, files, trusted=trusted) / "robot"
    (folder / "ran").unlink(missing_ok=True)  # its trial ran it, if it is trusted
    project.write(".handrail/flows/own.yaml", "phases: [{id: a, steps: [{id: x, node: llm-prompt, prompt: Go.}]}]")
    project.write(".handrail/settings.yaml", "agent: acme/robot\n")
    assert offer_launch(App(str(project.folder), os.environ), "own")["warnings"] == []
    assert not (folder / "ran").exists()


def test_a_change_after_trust_is_shown_and_asked_again(flows: Project) -> None:
    folder = as_folder(flows, small(ACT), "bad")
    assert flows.run("run", "uses").code == 0
    write(folder, {"act.py": TRAP + ACT, "more.py": "x = 1\n"})
    said = flows.run("run", "uses")
    assert (said.code, "the plugin `bad` changed after you trusted it" in said.err) == (4, True)
    assert not (folder / "ran").exists()
    shown = flows.run("plugin", "trust", "bad", "--show").out
    assert "+import pathlib\n" in shown
    assert "+++ b/more.py\n" in shown
    assert flows.run("plugin", "trust", "bad", "--yes").code == 0
    assert flows.run("run", "uses").code == 0
    assert flows.run("plugin", "distrust", "bad").code == 0
    assert flows.run("run", "uses").code == 4


def test_compiled_files_in_the_folder_are_not_used(flows: Project) -> None:
    import py_compile

    folder = as_folder(flows, small(TRAP + ACT), "bad", trusted=False)
    source = folder / "act.py"
    times = os.stat(source)
    py_compile.compile(str(source), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    source.write_text(ACT, encoding="utf-8")
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    as_folder(flows, {}, "bad")
    assert flows.run("run", "uses").code == 0
    assert not (folder / "ran").exists()


@pytest.mark.parametrize(
    "line",
    ["version = 2024-01-01", "about = 12:00:00", "[nodes]\nday = 2024-01-01", "[folders]\nflows = 12:00:00"],
)
def test_a_date_in_a_manifest_harms_only_its_plugin(flows: Project, line: str) -> None:
    as_folder(flows, small(ACT), "good")
    key = line.partition("=")[0]
    rest = "".join(row for row in SMALL.splitlines(keepends=True) if not row.startswith(key))
    as_folder(flows, small(ACT, f"{rest}{line}\n" if line.startswith("[") else f"{line}\n{rest}"), "dated")
    assert flows.run("list").code == 0
    assert {row["id"] for row in flows.json("plugins")["plugins"]} == {"good", "dated"}


def test_a_link_in_the_folder_is_refused(flows: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(TRAP + ACT, encoding="utf-8")
    folder = write(flows.folder / ".handrail/plugins/bad", {"plugin.toml": SMALL})
    (folder / "act.py").symlink_to(outside)
    ((code, message),) = problems(flows)
    assert (code, "`act.py` is a link" in message) == ("plugin-broken", True)
    assert not (tmp_path / "ran").exists()


def test_the_id_of_another_plugin_is_taken_by_the_nearer_one(flows: Project, tmp_path: Path) -> None:
    as_folder(flows, small(ACT), "bad")
    write(flows.home / "config" / "plugins" / "bad", small(TRAP + ACT))
    rows = flows.json("plugins")["plugins"]
    assert [(row["source"], row["trusted"]) for row in rows] == [("project", True), ("user", False)]
    assert [p["code"] for row in rows for p in row["problems"]] == ["plugin-id"]
    assert "another plugin has the id `bad`: that of the project" in rows[1]["problems"][0]["message"]
    assert flows.run("run", "uses").code == 0
    assert not (flows.home / "config/plugins/bad/ran").exists()


def test_settings_of_a_project_trust_no_plugin(flows: Project) -> None:
    as_folder(flows, small(TRAP + ACT), "bad", trusted=False)
    flows.write(".handrail/settings.yaml", "trust: true\n")
    flows.write(".env", "HANDRAIL_TRUST=1\n")
    flows.write(".agentweaver/.env", "HANDRAIL_TRUST=1\n")
    assert flows.run("run", "uses").code in (2, 4)
    assert not (flows.folder / ".handrail/plugins/bad/ran").exists()


def test_one_call_may_be_trusted(flows: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    as_folder(flows, small(ACT), "bad", trusted=False)
    monkeypatch.setenv("HANDRAIL_TRUST", "1")
    assert flows.run("run", "uses").code == 0
    monkeypatch.delenv("HANDRAIL_TRUST")
    assert flows.run("run", "uses").code == 4


def test_a_package_is_found_without_an_import(tmp_path: Path) -> None:
    files = {**FILES, "__init__.py": "raise RuntimeError('imported')\n"}
    place = install(as_wheel(tmp_path, {k: v for k, v in files.items() if k != "__init__.py"}), tmp_path / "packages")
    (place / "handrail_acme" / "__init__.py").write_text(files["__init__.py"], encoding="utf-8")
    (tmp_path / "cache").mkdir()
    (found,) = installed_plugins(str(tmp_path / "cache"), [str(place)])
    assert (found.id, found.package, found.folder) == ("acme", "handrail_acme", str(place / "handrail_acme"))
    assert installed_plugins(str(tmp_path / "cache"), [str(place)]) == [found]
    (place / "handrail_acme-1.2.dist-info" / "entry_points.txt").unlink()
    (place / "handrail_acme-1.2.dist-info").rename(place / "other.dist-info")
    assert installed_plugins(str(tmp_path / "cache"), [str(place)]) == []


@pytest.mark.whole
def test_the_doctor_names_what_is_wrong_and_the_cure(flows: Project) -> None:
    as_folder(flows, small(ACT), "good")
    as_folder(flows, small("x = 1"), "bad")
    as_folder(flows, small(ACT), "new", trusted=False)
    checks = {check["id"]: check for check in flows.run("doctor", "--json").data["checks"]}
    assert checks["plugin.good"]["status"] == "ok"
    assert (checks["plugin.bad"]["status"], "`NODE` has to be" in checks["plugin.bad"]["message"]) == ("error", True)
    assert checks["plugin.new"]["status"] == "warning"
    assert "`handrail plugins trust new`" in checks["plugin.new"]["fix"]


def test_metadata_in_a_cloned_project_install_nothing(flows: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    flows.write("handrail_bad.egg-info/entry_points.txt", "[handrail.plugins]\nbad = handrail_bad\n")
    for name, text in small(TRAP + ACT).items():
        flows.write(f"handrail_bad/{name}", text)
    monkeypatch.syspath_prepend(str(flows.folder))  # as with `python -m handrail`
    assert flows.json("plugins") == {"plugins": []}
    assert not (flows.folder / "handrail_bad" / "ran").exists()


def test_a_plugin_alone_is_validated(flows: Project) -> None:
    as_folder(flows, small(ACT), "good")
    as_folder(flows, small(ACT, SMALL.replace("contract = 1", "contract = 2")), "bad", trusted=False)
    assert flows.run("validate", ".handrail/plugins/good").code == 0
    assert flows.run("validate", ".handrail/plugins/good/plugin.toml").code == 0
    found = flows.run("validate", ".handrail/plugins/bad/plugin.toml", "--json").data["problems"]
    assert [problem["code"] for problem in found] == ["plugin-contract"]
