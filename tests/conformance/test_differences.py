"""The table of differences contains exactly the doubtful cases."""

from __future__ import annotations

from conformance import corpus, differences


def test_every_doubtful_case_without_a_preferred_answer_is_in_the_table() -> None:
    cases = [case for suite in corpus.SUITES for case in corpus.read(suite, corpus.OURS)]
    doubtful = {case["id"] for case in cases if "seedQuirk" in case and not differences.preferred(case)}
    assert differences.TABLE.keys() == doubtful


def test_a_suite_without_a_file_is_empty() -> None:
    assert corpus.read("no-such-suite") == []
