"""The report of `handrail doctor --report`: Markdown that can be pasted into a public issue.

It has versions, findings, and names of settings and variables. It has no values of variables, no path of the home or of
the project, and no token, also if a file or a message contains one.
"""

from __future__ import annotations

import fnmatch
import os
import platform
import re
from collections.abc import Callable, Mapping

import handrail
from handrail.app import App
from handrail.doctor.checkup import STATUSES, Checkup
from handrail.project import file_name, has_settings
from handrail.secrets.redaction import HIDDEN
from handrail.secrets.rules import recognised
from handrail.source.plain import counted, one_line

VARIABLES = ("HANDRAIL_*", "XDG_*", "*_BIN", "NO_COLOR", "TERM", "CI")
"""The variables whose names are in the report, if they are set. Their values are not."""
_KEY = re.compile(r"^([A-Za-z][A-Za-z-]*):", re.MULTILINE)


def report(app: App, found: list[Checkup], versions: Mapping[str, str]) -> str:
    """The report about these findings. `versions` are those of the agents' programs."""
    clean = cleaner(app)
    lines = ["### Versions", "", f"- Handrail {handrail.__version__}", f"- Python {platform.python_version()}"]
    lines.append(f"- {platform.system()} {platform.release()}, {platform.machine()}")
    lines += [f"- {agent} {version}" for agent, version in versions.items()]
    lines += ["", "### Findings", ""]
    wrong = [one for one in found if one.status in ("error", "warning")]
    fine = [one.id for one in found if one not in wrong]
    for status in STATUSES:
        lines += [_line(one, clean) for one in wrong if one.status == status]
    lines += ([] if wrong else ["No errors and no warnings."]) + ["", f"Fine or skipped: {', '.join(fine) or 'none'}."]
    lines += ["", "### Settings", ""]
    lines += [f"- {whose}: {', '.join(names) or 'none'}" for whose, names in _settings(app).items()]
    named = sorted(name for name in app.env if any(fnmatch.fnmatchcase(name, one) for one in VARIABLES))
    lines.append(f"- variables that are set: {', '.join(named) or 'none'}")
    return "\n".join(lines) + "\n"


def _line(one: Checkup, clean: Callable[[str], str]) -> str:
    cure = f" Fix: {clean(one.cure)}." if one.cure else ""
    return f"- **{one.status}** `{clean(one.id)}`: {clean(one.message)}.{cure}"


def _settings(app: App) -> dict[str, list[str]]:
    """The names of the keys at the top of the settings files, as far as they can be read."""
    files = {"of the user": app.places.config, "of the project": os.path.join(app.project, ".handrail")}
    if not has_settings(app.places, app.project):
        return {whose: [] for whose in files}
    return {whose: _keys(os.path.join(folder, handrail.SETTINGS_FILE)) for whose, folder in files.items()}


def _keys(path: str) -> list[str]:
    from handrail.settings import SETTINGS

    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            written = _KEY.findall(file.read(1024 * 1024))
    except OSError:
        return []
    known = {field.name for field in SETTINGS.fields}
    others = sum(name not in known for name in written)
    return [name for name in written if name in known] + ([counted(others, "unknown key")] if others else [])


def cleaner(app: App) -> Callable[[str], str]:
    """A function that makes a text public: folders of the person become names, and secrets are hidden."""
    state, home = app.places.state, app.places.home
    places = {app.project: "<project>", state: "<state>", app.places.config: "<config>", home: "~"}
    paths = {form: name for path, name in places.items() for form in (path, os.path.realpath(path)) if len(form) > 1}
    forms = {**paths, **{file_name(path): name for path, name in paths.items()}}  # folders of the state have such names
    ordered = sorted(forms, key=len, reverse=True)
    mask = app.secrets.mask

    def clean(text: str) -> str:
        text = mask(one_line(text))
        for part in recognised(text):
            text = text.replace(part, HIDDEN)
        for path in ordered:
            text = re.sub(re.escape(path) + r"(?![\w.-])", forms[path], text)
        return text

    return clean
