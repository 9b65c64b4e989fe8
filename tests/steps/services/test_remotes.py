"""The addresses of git remotes, the forge that each is on, and where a token may go."""

from __future__ import annotations

import base64

import pytest

from handrail.extensions.contracts import NodeError
from handrail.steps.services.addresses import Remote, parse_remote, password_of, public_address
from handrail.steps.services.forges import forge_of_remote, git_login, project_path


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("https://github.com/owner/name.git", ("https", "github.com", None, "owner/name")),
        ("https://github.com/owner/name", ("https", "github.com", None, "owner/name")),
        ("https://github.com/owner/name/", ("https", "github.com", None, "owner/name")),
        ("https://GitHub.com:443/owner/name.git/", ("https", "github.com", None, "owner/name")),
        ("https://user:pa%40ss@host.example:8443/a/b/c.git", ("https", "host.example", 8443, "a/b/c")),
        ("http://127.0.0.1:5000/group/sub/deep/project.git", ("http", "127.0.0.1", 5000, "group/sub/deep/project")),
        ("http://[::1]:80/o/n", ("http", "::1", None, "o/n")),
        ("https://host/o/with%20space", None),
        ("ssh://git@github.com/owner/name.git", ("ssh", "github.com", None, "owner/name")),
        ("ssh://git@host.example:2222/group/sub/project.git", ("ssh", "host.example", 2222, "group/sub/project")),
        ("git+ssh://git@host/o/n", ("ssh", "host", None, "o/n")),
        ("ssh://git@ssh.github.com:443/owner/name.git", ("ssh", "github.com", None, "owner/name")),
        ("ssh://git@altssh.gitlab.com:443/g/p.git", ("ssh", "gitlab.com", None, "g/p")),
        ("git://host/o/n.git", ("git", "host", None, "o/n")),
        ("git@github.com:owner/name.git", ("ssh", "github.com", None, "owner/name")),
        ("github.com:owner/name", ("ssh", "github.com", None, "owner/name")),
        ("git@gitlab.com:/group/sub/project.git", ("ssh", "gitlab.com", None, "group/sub/project")),
        ("git@[::1]:o/n.git", ("ssh", "::1", None, "o/n")),
        ("[git@host:2222]:o/n.git", ("ssh", "host", 2222, "o/n")),
        ("work:team/project", ("ssh", "work", None, "team/project")),
        (" https://host/o/n\n", ("https", "host", None, "o/n")),
    ],
)
def test_the_address_of_a_remote(address: str, found: tuple[str, str, int | None, str] | None) -> None:
    assert parse_remote(address) == (None if found is None else Remote(*found))


@pytest.mark.parametrize(
    "address",
    [
        "/srv/git/project.git",
        "./project",
        "../x:y/z",
        "file:///srv/git/project.git",
        "C:/folder/project",
        "C:\\folder",
        "ext::sh -c touch% /tmp/x",
        "ftp://host/o/n",
        "https://host",
        "https://host/",
        "https://host/o/../n",
        "https://host/o//n",
        "https://host/o/n?x=1",
        "https://host/o/n#x",
        "https://host:99999/o/n",
        "https://[::1/o/n",
        "git@host:~user/project",
        "git@host:",
        "git@host:a b",
        "",
        "x",
    ],
)
def test_what_is_not_a_repository_on_a_host(address: str) -> None:
    assert parse_remote(address) is None


@pytest.mark.parametrize(
    ("address", "shown", "password"),
    [
        ("https://ada:s3cret@host/o/n", "https://host/o/n", "s3cret"),
        ("https://s3cret@host/o/n", "https://host/o/n", None),
        ("https://a:b@c@host/o/n", "https://host/o/n", "b@c"),
        ("https://host/o/n@2", "https://host/o/n@2", None),
        ("git@host:o/n", "git@host:o/n", None),
        ("/folder/x", "/folder/x", None),
    ],
)
def test_an_address_for_people_has_no_password(address: str, shown: str, password: str | None) -> None:
    assert (public_address(address), password_of(address)) == (shown, password)


ENTERPRISE = {"GITHUB_API_URL": "https://git.example/api/v3", "GITLAB_BASE_URL": "https://lab.example:8443/gitlab"}


@pytest.mark.parametrize(
    ("address", "env", "kind", "path"),
    [
        ("git@github.com:o/n.git", {}, "github", "o/n"),
        ("https://github.com/o/n", {"GITHUB_API_URL": "https://api.github.com"}, "github", "o/n"),
        ("https://gitlab.com/g/s/p.git", {}, "gitlab", "g/s/p"),
        ("ssh://git@git.example:7999/o/n", ENTERPRISE, "github", "o/n"),
        ("https://git.example/o/n", ENTERPRISE, "github", "o/n"),
        ("https://lab.example:8443/gitlab/g/p.git", ENTERPRISE, "gitlab", "g/p"),
        ("git@lab.example:g/p.git", ENTERPRISE, "gitlab", "g/p"),
        ("https://team.ghe.com/o/n", {"GITHUB_API_URL": "https://api.team.ghe.com"}, "github", "o/n"),
    ],
)
def test_the_forge_of_a_remote(address: str, env: dict[str, str], kind: str, path: str) -> None:
    found = parse_remote(address)
    assert found is not None
    assert forge_of_remote(found, env) == kind
    assert project_path(found, "github" if kind == "github" else "gitlab", env) == path


@pytest.mark.parametrize(
    ("address", "env"),
    [
        ("https://github.com/o/n", ENTERPRISE),
        ("https://github.com.evil.example/o/n", {}),
        ("https://github.com:8443/o/n", {}),
        ("http://github.com/o/n", {}),
        ("git@bitbucket.org:o/n", {}),
    ],
)
def test_a_remote_on_another_host(address: str, env: dict[str, str]) -> None:
    found = parse_remote(address)
    assert found is not None
    with pytest.raises(NodeError) as caught:
        forge_of_remote(found, env)
    assert caught.value.code == "remote-address"
    assert git_login(found, {**env, "GITHUB_TOKEN": "t", "GITLAB_TOKEN": "t"}) is None


@pytest.mark.parametrize(
    ("address", "env", "pair"),
    [
        ("https://github.com/o/n", {"GITHUB_TOKEN": "one"}, "x-access-token:one"),
        ("https://github.com/o/n", {"GITHUB_TOKEN": "one", "GH_TOKEN": "two"}, "x-access-token:two"),
        ("https://gitlab.com/o/n", {"GITLAB_TOKEN": "three"}, "oauth2:three"),
        ("https://gitlab.com/o/n", {"GITHUB_TOKEN": "one"}, None),
        ("git@github.com:o/n", {"GITHUB_TOKEN": "one"}, None),
        ("/folder", {"GITHUB_TOKEN": "one"}, None),
        ("https://github.com/o/n", {"GITHUB_TOKEN": " "}, None),
    ],
)
def test_the_login_for_a_remote(address: str, env: dict[str, str], pair: str | None) -> None:
    found = git_login(parse_remote(address), env)
    if pair is None:
        assert found is None
    else:
        assert found is not None
        assert found.header == f"Authorization: Basic {base64.b64encode(pair.encode()).decode()}"
        assert pair.partition(":")[2] in found.secrets


def test_a_token_that_would_break_the_header() -> None:
    with pytest.raises(NodeError) as caught:
        git_login(parse_remote("https://github.com/o/n"), {"GITHUB_TOKEN": "one\nX-Evil: 1"})
    assert caught.value.code == "service-config"
    assert "X-Evil" not in caught.value.message
