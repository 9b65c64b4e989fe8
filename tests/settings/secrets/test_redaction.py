"""Which variables hold secrets, and the three forms of a value: real, stored and masked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.base import jsonlite
from handrail.settings.secrets import (
    HIDDEN,
    LostSecret,
    SecretRules,
    Secrets,
    allowed_variables,
    has_lost,
    masked,
    refuse_lost,
    without_secrets,
)
from handrail.source.values import Unresolved

KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END PRIVATE KEY-----\n"
ENV = {
    "API_TOKEN": "tok-1234567890",
    "DATABASE_URL": "postgres://app:longpassword@db/app",
    "DEPLOY_PRIVATE_KEY": KEY,
    "PATH": "/bin",
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[
            (name, "x")
            for name in ("API_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN", "GHTOKEN", "DB_PASSWORD", "PGPASSWORD")
        ],
        *[(name, "x") for name in ("CLIENT_SECRET", "SecretKey", "X_PAT", "DB_PASS", "AWS_SECRET_ACCESS_KEY")],
        ("DATABASE_URL", "postgres://app:pw@db/app"),
        ("HTTPS_PROXY", "http://me:pw@proxy:3128"),
        ("SOMETHING", "ghp_0123456789abcdefABCDEF"),
        ("SOMETHING", "sk-ant-api03-0123456789abcdef"),
        ("HEADERS", "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"),
        ("SOMETHING", KEY),
    ],
)
def test_secrets_are_recognised_by_name_or_by_value(name: str, value: str) -> None:
    assert SecretRules().holds(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SONAR_PROJECT_KEY", "my-service"),
        ("SSH_AUTH_SOCK", "/tmp/agent.1"),
        ("AUTH_MODE", "basic"),
        ("CACHE_KEY", "linux-3f2a9c"),
        ("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json"),
        ("DB_PASSWORD_FILE", "/run/secrets/db"),
        ("MAX_THINKING_TOKENS", "32000000"),
        ("SENTRY_DSN", "https://public@sentry.example/1"),
        *[
            (name, "some-value")
            for name in ("PATH", "HANDRAIL_KEY", "KEYBOARD", "TOKENIZERS", "PATIENCE", "SECRET_NAME")
        ],
    ],
)
def test_ordinary_variables_are_not_secrets(name: str, value: str) -> None:
    assert not SecretRules().holds(name, value)


def test_settings_add_and_except_names() -> None:
    rules = SecretRules(added=("SONAR_*",), excepted=("CI_TOKEN", "SONAR_HOST"))
    assert rules.holds("SONAR_PROJECT_KEY", "my-service")
    assert not rules.holds("SONAR_HOST", "sonar.example")
    assert not rules.holds("CI_TOKEN", "ghp_0123456789abcdefABCDEF")
    assert without_secrets({"SONAR_KEY": "x", "CI_TOKEN": "y"}, (), rules) == {"CI_TOKEN": "y"}


def test_allowed_variables_are_listed_and_the_longest_secret_is_hidden_first() -> None:
    env = {"PATH": "/bin", "ANTHROPIC_API_KEY": "abcdefghij", "A_TOKEN": "abcdefghijkl", "LC_ALL": "C", "OTHER": "x"}
    assert allowed_variables(env, ["ANTHROPIC_*"]) == {"PATH": "/bin", "ANTHROPIC_API_KEY": "abcdefghij", "LC_ALL": "C"}
    assert without_secrets(env, ["A_TOKEN"]).keys() == {"PATH", "A_TOKEN", "LC_ALL", "OTHER"}
    assert Secrets(env).mask("abcdefghijkl abcdefghij") == "[hidden] [hidden]"


def test_a_stored_value_has_the_name_in_the_place_of_the_secret() -> None:
    secrets = Secrets(ENV)
    value = {"tok-1234567890": ["it is tok-1234567890!", 3, None]}
    stored = secrets.for_storage(value)
    assert stored == {"${secret:API_TOKEN}": ["it is ${secret:API_TOKEN}!", 3, None]}
    assert secrets.from_storage(stored) == value
    assert masked(stored) == secrets.for_people(value) == {HIDDEN: ["it is [hidden]!", 3, None]}


@pytest.mark.parametrize(
    "text",
    [
        "${secret:",
        "${secret:API_TOKEN}",
        "${secret:}",
        "${${secret:}}",
        "${secret:API_TOKEN:json}",
        "$${secret:x",
        "${",
    ],
)
def test_data_that_looks_like_a_reference_stays_what_it_is(text: str) -> None:
    for env in (ENV, {}):
        secrets = Secrets(env)
        assert secrets.from_storage(secrets.for_storage({text: text})) == {text: text}
        assert masked(secrets.for_storage([text])) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "the password is longpassword",
        json.dumps({"key": KEY}),
        f"<{KEY}>",
        KEY.strip(),
        "first MIIEvQIBADANBgkqhkiG9w0B\nthen\n  AQEFAASCBKcwggSjAgEAAoIB",
        "\udc80 tok-1234567890",
    ],
)
def test_other_forms_of_a_secret_are_found_and_restored(text: str) -> None:
    secrets = Secrets(ENV)
    stored = secrets.for_storage([text])
    for part in ("longpassword", "MIIEvQIBADANBgkqhkiG9w0B", "1234567890"):
        assert part not in jsonlite.dumps(stored)
        assert part not in secrets.mask(text)
    assert secrets.from_storage(stored) == [text]


_PIECES = st.sampled_from(["tok-1234567890", "longpassword", "${secret:", "}", "API_TOKEN", ":", "$", "{", "tok-", "ä"])
_TEXTS = st.lists(_PIECES, max_size=8).map("".join)


@pytest.mark.whole
@given(st.recursive(_TEXTS | st.integers() | st.none(), lambda v: st.lists(v) | st.dictionaries(_TEXTS, v)))
def test_every_value_is_restored(value: Any) -> None:
    secrets = Secrets(ENV)
    stored = secrets.for_storage(value)
    assert "tok-1234567890" not in jsonlite.dumps(stored)
    assert secrets.from_storage(stored) == value


def test_a_value_without_secrets_is_not_copied() -> None:
    value = {"a": ["b"]}
    assert Secrets(ENV).for_storage(value) is value
    assert Secrets(ENV).from_storage(value) is value


def test_a_reference_gets_the_value_that_the_variable_has_now() -> None:
    stored = Secrets(ENV).for_storage("Bearer tok-1234567890")
    assert Secrets({"API_TOKEN": "rotated-value"}).from_storage(stored) == "Bearer rotated-value"


def test_a_text_whose_variable_is_gone_is_lost_and_can_be_stored_again() -> None:
    stored = Secrets(ENV).for_storage({"a": "tok-1234567890 and more", "b": "plain"})
    later = Secrets({})
    value = later.from_storage(stored)
    assert (value["b"], isinstance(value["a"], LostSecret), has_lost(value)) == ("plain", True, True)
    with pytest.raises(Unresolved, match="`API_TOKEN` is not set"):
        refuse_lost([value])
    assert later.for_storage(value) == stored


def test_a_name_with_strange_characters_can_be_referred_to() -> None:
    secrets = Secrets({"npm_config_//registry.example/:_authToken": "0123456789"})
    stored = secrets.for_storage("0123456789")
    assert secrets.from_storage(stored) == "0123456789"
    assert secrets.found_in(b"x 0123456789") == "npm_config_//registry.example/:_authToken"


def test_a_secret_that_was_cut_is_masked_too() -> None:
    secrets = Secrets({"API_TOKEN": "abcdefghijklmnopqrstuvwxyz0123456789"})
    assert secrets.mask("found `abcdefghijklmnopqrstuv`, not x") == "found `[hidden]`, not x"
    assert secrets.mask("opqrstuvwxyz0123456789 is the end") == "[hidden] is the end"


def test_short_values_are_not_looked_for() -> None:
    assert not Secrets({"API_TOKEN": "true"})


def test_a_deep_value_is_stored_and_masked() -> None:
    value: Any = "tok-1234567890"
    for _ in range(900):
        value = [value]
    masked_: Any = Secrets(ENV).for_people(value)
    for _ in range(900):
        masked_ = masked_[0]
    assert masked_ == HIDDEN
