"""Tells whether a shell command surely only reads. Codex has no tools for reading, so a list that allows only `read`
and `search` has to allow such commands.

Strict on purpose: a command that is not understood does not count. Runs at tool calls, so it imports no `re`.
"""

from __future__ import annotations

_PLAIN = frozenset((
    "basename", "cat", "cd", "cmp", "column", "comm", "cut", "diff", "dirname", "du", "echo", "egrep", "false",
    "fgrep", "fold", "grep", "head", "hexdump", "jq", "ls", "md5sum", "nl", "od", "paste", "printf", "pwd",
    "readlink", "realpath", "rev", "seq", "sha1sum", "sha256sum", "stat", "strings", "tac", "tail", "test", "tr",
    "true", "wc", "which", "[",
))  # fmt: skip
"""Programs that write nothing and start no other program, whatever their options are."""
_UNLESS = {
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "file": ("-C", "--compile"),
    "find": ("-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir"),
    "rg": ("--pre", "--hostname-bin", "-z", "--search-zip"),
    "sort": ("-o", "--output", "--compress-program", "-T", "--temporary-directory"),
    "tree": ("-o",),
    "uniq": (),
}
"""Programs that only read unless they get one of these options."""
_GIT = frozenset(("blame", "cat-file", "diff", "log", "ls-files", "ls-tree", "rev-list", "rev-parse", "show", "status"))
_GIT_UNLESS = ("-c", "-o", "-O", "--ext-diff", "--textconv", "--output", "--exec-path", "--config-env", "--git-dir")
_REFUSED = "`$<>(){}!\\\r\0"
"""Signs with which a command could do something else, outside of single quotes."""


def only_reads(line: str) -> bool:
    """True if every command of the line is known to only read. Redirections and expansions do not count as known."""
    commands = _commands(line)
    return bool(commands) and all(map(_reads, commands))


def _reads(words: list[str]) -> bool:
    program, *rest = words
    if program in _PLAIN:
        return True
    if program in _UNLESS:
        operands = [word for word in rest if not word.startswith("-")]
        if program == "uniq" and len(operands) > 1:  # the second is a file that it writes
            return False
        return not any(_is_option(word, _UNLESS[program]) for word in rest)
    if program == "git":
        return bool(rest) and rest[0] in _GIT and not any(_is_option(word, _GIT_UNLESS) for word in rest)
    return program == "sed" and _is_plain_sed(rest)


def _is_option(word: str, options: tuple[str, ...]) -> bool:
    """True if a word may be one of these options: also with a value, abbreviated, or among other letters."""
    name = word.partition("=")[0]
    for option in options:
        if name == option or (name.startswith("--") and len(name) > 2 and option.startswith(name)):
            return True
        if len(option) == 2 and word.startswith("-") and not word.startswith("--") and option[1] in word:
            return True
    return False


def _is_plain_sed(words: list[str]) -> bool:
    """True for `sed -n 'LINES'p FILES`: other scripts can write files and run commands."""
    if len(words) < 2 or words[0] != "-n" or any(word.startswith("-") for word in words[1:]):
        return False
    lines, last = words[1][:-1], words[1][-1:]
    return last == "p" and all(char in "0123456789,$ " for char in lines)


def _commands(line: str) -> list[list[str]]:
    """The words of each command in a line; an empty list if the line has a sign that is not understood."""
    commands: list[list[str]] = [[]]
    word, has_word, quote = "", False, ""
    for char in line:
        if quote == "'" and char != "'":
            word += char
        elif quote and char == quote:
            quote = ""
        elif char in _REFUSED:
            return []
        elif quote:
            word += char
        elif char in "'\"":
            quote, has_word = char, True
        elif char in " \t;|&\n":
            if has_word:
                commands[-1].append(word)
            word, has_word = "", False
            if char not in " \t" and commands[-1]:
                commands.append([])
        else:
            word, has_word = word + char, True
    if quote:
        return []
    if has_word:
        commands[-1].append(word)
    return [words for words in commands if words]
