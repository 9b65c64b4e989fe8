"""Finds the paths that a shell command line obviously changes, and the commands that it starts. Pure.

Imports no `re`, because hooks use it. It sees redirections, and path arguments of programs that are not known to be
read-only. It does not see what a script does or what a variable holds. It is not a sandbox.
"""

from __future__ import annotations

import posixpath

from handrail.base.record import Record

_READERS = frozenset((
    "[", "basename", "cat", "cd", "cmp", "cut", "diff", "dirname", "du", "echo", "egrep", "exit", "export", "false",
    "fgrep", "file", "grep", "head", "jq", "less", "ls", "md5sum", "more", "nl", "od", "printf", "pwd", "readlink",
    "realpath", "rg", "sha1sum", "sha256sum", "sort", "stat", "strings", "tail", "test", "tree", "true", "uniq", "wc",
))  # fmt: skip
_REMOVERS = frozenset(("chmod", "chown", "mv", "rm", "rmdir", "rsync", "shred", "unlink"))
_GIT_CHANGES = frozenset((
    "am", "apply", "checkout", "cherry-pick", "clean", "merge", "mv", "pull", "rebase", "reset", "restore", "revert",
    "rm", "stash", "switch",
))  # fmt: skip
_ENDS = frozenset((";", "|", "&", "||", "&&", "\n", "(", ")", "|&", ";;"))
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh"))
_RUN_SCRIPTS = _SHELLS | {"node", "perl", "python", "python3", "ruby"}
_WRAPPERS = frozenset(("sudo", "env", "command", "nohup", "time", "nice", "exec", "xargs", "builtin"))


class PathChange(Record):
    """A path that a command line may change. `is_whole`: everything below the path changes too."""

    path: str
    is_whole: bool


def changes(line: str, cwd: str, home: str) -> list[PathChange]:
    """The absolute paths that a command line may change, as far as its text shows them."""
    path_changes: list[PathChange] = []
    folder = cwd
    for words, targets in _commands(_tokens(line)):
        program, *arguments = _without_wrappers(words) or [""]
        program = posixpath.basename(program)
        paths = [_path(word, folder, home) for word in arguments if word and not word.startswith("-")]
        path_changes += [PathChange(_path(target, folder, home), False) for target in targets]
        if program == "cd":
            folder = paths[0] if paths else home
        elif not _only_reads(program, arguments):
            values = [_path(word.partition("=")[2], folder, home) for word in arguments if "=" in word]
            paths = paths[_read_first(program, arguments, len(paths)) :]
            path_changes += [PathChange(path, program in _REMOVERS) for path in (*paths, *values)]
    return path_changes


def _only_reads(program: str, arguments: list[str]) -> bool:
    options = [word for word in arguments if word.startswith("-")]
    if program == "find":
        return not any(word.startswith(("-delete", "-exec", "-f", "-ok")) for word in options)
    if program in ("awk", "sed"):
        return not any("i" in word for word in options)  # `-i`, `-ni`, `--in-place`
    return program in _READERS or (program == "git" and _GIT_CHANGES.isdisjoint(arguments))


def _read_first(program: str, arguments: list[str], count: int) -> int:
    """How many of the paths before the others are only read: the script of an interpreter, and what `cp` copies."""
    options = {char for word in arguments if word.startswith("-") for char in word[1:]}
    if program == "cp" and options <= {*"afprRuv"}:  # with `-l`, a copy is another name of the same file
        return count - 1
    return int(program in _RUN_SCRIPTS and not arguments[0].startswith("-")) if arguments else 0


def commands(line: str) -> list[list[str]]:
    """The words of each command in a line that is not known to be read-only, also of a line for another shell."""
    result: list[list[str]] = []
    for all_words, _ in _commands(_tokens(line)):
        words = _without_wrappers(all_words)
        if not words or posixpath.basename(words[0]) in (*_READERS, "git"):
            continue
        result.append(words)
        if posixpath.basename(words[0]) in _SHELLS and "-c" in words[1:-1]:
            result += commands(words[words.index("-c") + 1])
    return result


def _without_wrappers(words: list[str]) -> list[str]:
    """The words of a command without leading assignments and wrappers such as `sudo`."""
    at = 0
    while at < len(words) and (words[at] in _WRAPPERS or "=" in words[at].partition("/")[0]):
        at += 1
    return words[at:]


def _path(word: str, folder: str, home: str) -> str:
    for name in ("~", "$HOME", "${HOME}"):
        if word == name or word.startswith(name + "/"):
            word = home + word[len(name) :]
    return posixpath.normpath(posixpath.join(folder, word))


def _commands(tokens: list[tuple[str, bool]]) -> list[tuple[list[str], list[str]]]:
    """(words, redirection targets) of each simple command in a line."""
    commands: list[tuple[list[str], list[str]]] = [([], [])]
    expects_target = False
    for text, is_operator in tokens:
        if is_operator and text in _ENDS:
            commands.append(([], []))
            expects_target = False
        elif is_operator:
            expects_target = ">" in text
        elif expects_target:
            commands[-1][1].append(text)
            expects_target = False
        else:
            commands[-1][0].append(text)
    return [(words, targets) for words, targets in commands if words or targets]


def _tokens(line: str) -> list[tuple[str, bool]]:
    """(text, is_operator) of each token; quotes and backslashes are removed."""
    tokens: list[tuple[str, bool]] = []
    word, has_word, quote, at = "", False, "", 0
    while at < len(line):
        char = line[at]
        if quote:
            if char == quote:
                quote = ""
            elif char == "\\" and quote == '"' and at + 1 < len(line):
                at += 1
                word += line[at]
            else:
                word += char
        elif char in "'\"":
            quote, has_word = char, True
        elif char == "\\" and at + 1 < len(line):
            at += 1
            word, has_word = word + line[at], True
        elif char in " \t":
            if has_word:
                tokens.append((word, False))
            word, has_word = "", False
        elif char in ";|&()<>\n":
            if has_word and not (char in "<>" and word.isdigit()):
                tokens.append((word, False))
            word, has_word = "", False
            operator = char
            while at + 1 < len(line) and line[at + 1] in ";|&<>" and char not in "()\n":
                at += 1
                operator += line[at]
            tokens.append((operator, True))
        else:
            word, has_word = word + char, True
        at += 1
    if has_word:
        tokens.append((word, False))
    return tokens
