"""Checks whether a person can be told as the setting `notify` says. Sends nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from handrail.alerts.channels import name_of, program_of_desktop
from handrail.doctor.checkup import Checkup, Subject
from handrail.settings.notify import Channel


def notify(subject: Subject) -> Iterator[Checkup]:
    """One result for all channels: the first that cannot work, or how many can."""
    channels, env = subject.app.settings.notify, subject.app.run_env
    if not channels:
        yield Checkup(
            "notify", "skipped", "your settings have no `notify`, so only `handrail ui` tells you of questions"
        )
        return
    path = env.get("PATH")
    wrong = next((found for one in channels if (found := _wrong(one, path, program_of_desktop(env))) is not None), None)
    if wrong is not None:
        yield wrong
        return
    told = ", ".join(name_of(one) for one in channels)
    untried = "; whether a webhook answers was not tried" if any(one.kind == "webhook" for one in channels) else ""
    yield Checkup("notify", "ok", f"you are told by {told}{untried}")


def _wrong(channel: Channel, path: str | None, desktop: str | None) -> Checkup | None:
    if channel.kind == "desktop" and desktop is None:
        told = "`notify` has `desktop`, but neither `notify-send` nor `osascript` is on the PATH"
        return Checkup(
            "notify", "warning", told, "install libnotify, or remove `desktop` from `notify` in your settings"
        )
    if channel.kind == "command" and shutil.which(channel.argv[0], path=path) is None:
        told = (
            f"`notify` has the program `{channel.argv[0]}`, which cannot be started: it is not there or not executable"
        )
        return Checkup("notify", "warning", told, "install it, or correct `notify` in your settings")
    return None
