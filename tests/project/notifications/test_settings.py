"""The setting `notify`: each wrong channel is reported at its place, and the others are used."""

from __future__ import annotations

from pathlib import Path

from handrail.settings.sections import BELL, Channel, may_ring
from handrail.settings.settings import read_settings

WRONG = """\
notify:
- bell
- desktpo
- {command: [say, it]}
- {command: say it}
- {command: [./say]}
- {webhook: "ftp://example.com"}
- {webhook: "https://me:secret@example.com"}
- {webhook: "http://127.0.0.1:8/x"}
- telegram
- {ntfy: "https://ntfy.example.com/"}
- {ntfy: "https://ntfy.example.com/my-topic"}
- {comand: [x]}
- {command: [x], webhook: "https://example.com"}
- 5
- bell
"""


def test_each_wrong_channel_is_reported_at_its_place(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text(WRONG)
    settings, problems = read_settings(str(tmp_path), str(tmp_path / "none"))
    assert settings.notify == (
        BELL,
        Channel("command", argv=("say", "it")),
        Channel("webhook", url="http://127.0.0.1:8/x"),
        Channel("telegram"),
        Channel("ntfy", url="https://ntfy.example.com/my-topic"),
    )
    assert [problem.line for problem in problems] == [3, 5, 6, 7, 8, 11, 13, 14, 15]
    assert problems[0].hint == "did you mean `desktop`?"
    assert not any("secret" in problem.message for problem in problems)


def test_a_surface_rings_unless_the_settings_leave_the_bell_out(tmp_path: Path) -> None:
    assert read_settings(str(tmp_path), str(tmp_path / "none"))[0].notify is None
    assert (may_ring(None), may_ring(()), may_ring((BELL,))) == (True, False, True)
