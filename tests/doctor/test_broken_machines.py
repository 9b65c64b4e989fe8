"""`handrail doctor` on prepared broken machines: it names each fault and its cure, and the cure works."""

from __future__ import annotations

import pytest

from doctor.machines import FAULTS, Machine
from support import Project


@pytest.fixture
def machine(project: Project, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(project, monkeypatch)


def test_a_healthy_machine_has_no_finding(machine: Machine) -> None:
    machine.probed()
    found = machine.doctor("--strict")
    assert {id_: check for id_, check in found.items() if check["status"] in ("error", "warning")} == {}
    missing = {fault.id for fault in FAULTS.values()} - found.keys()
    assert missing == set()


@pytest.mark.whole(14)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_a_cure_that_works(machine: Machine, name: str) -> None:
    fault = FAULTS[name]
    fault.breaks(machine)
    found = machine.doctor()[fault.id]
    assert (found["status"], fault.words in found["message"]) == (fault.status, True), found
    assert fault.fix in found["fix"], found
    if fault.cure is not None:
        fault.cure(machine)
    else:
        machine.sh(found["command"].replace("YOUR NAME", "Ada"))
    after = machine.doctor("--only", fault.id)[fault.id]
    assert after["status"] in ("ok", "skipped"), after
