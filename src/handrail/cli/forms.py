"""A form on a terminal: asked line by line, or printed with an example of an answers file.

All questions go to stderr. Texts of a form come from definitions and agents, so control characters are removed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import click

from handrail.base.errors import UsageError
from handrail.cli.output import Shell, wants_colour
from handrail.driven.forms.form import Form, FormField, Option, When, accept, choices, initial, is_shown, problems
from handrail.source.plain_text import plain, plain_lines, some
from handrail.source.suggestions import did_you_mean
from handrail.source.values import as_text

_WORDS = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}
_NOTHING = "-"
_SHORT = 60


class Unclear(Exception):
    """The typed text is not a valid answer. The message says what is valid."""


def can_ask() -> bool:
    """True if a person can answer on a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(form: Form) -> dict[str, Any]:
    """The valid answers of the person at the terminal. Raises `click.Abort` on Ctrl-C or Ctrl-D.

    Blocks, so it must not be called in an event loop.
    """
    _say(click.style(plain(form.title), bold=True))
    _say_below(form.description, "")
    values: dict[str, Any] = {}
    for field in form.fields:
        values[field.id] = _ask_field(form, field, values) if is_shown(field, values) else None
    return accept(form, values)


def _ask_field(form: Form, field: FormField, values: dict[str, Any]) -> Any:
    options = choices(field, values)
    if field.is_select and not options:
        return field.blank
    _question(form, field, options)
    while True:
        try:
            value = _READ[field.type](field, options)
        except Unclear as error:
            _say(plain(str(error)))
            continue
        all_problems = problems(form, {**values, field.id: value})
        message = next((problem.message for problem in all_problems if problem.field == field.id), None)
        if message is None:
            return field.blank if value is None else value
        _say(plain(f"{'this question' if '`' in field.label else f'`{field.label}`'} {message}"))


def _say(text: str = "") -> None:
    click.echo(text, err=True, color=wants_colour(os.environ))


def _say_below(text: str, indent: str = "  ") -> None:
    for line in plain_lines(text).split("\n") if text else ():
        _say(f"{indent}{line}".rstrip())


def _question(form: Form, field: FormField, options: tuple[Option, ...]) -> None:
    _say()
    if not _is_title(form, field):
        _say(click.style(plain(field.label), bold=True) + ("" if field.required else " (optional)"))
    _say_below(field.help)
    if field.placeholder:
        _say_below(f"for example: {field.placeholder}")
    for key, option in _options_by_key(options).items():
        _say(f"  {plain(key)}) {_option_text(option, key)}")
    if field.type == "text" and field.default and not _fits_prompt(field.default):
        _say("  Enter takes:")
        _say_below(field.default, "    ")


def _is_title(form: Form, field: FormField) -> bool:
    """True if the title of the form already asks this question. It is not asked a second time."""
    return field.required and field.label.strip() == form.title.strip()


def _option_text(option: Option, key: str) -> str:
    value = "" if option.value in (option.label, key) else f" ({plain(option.value)})"
    description = f" - {plain(option.description)}" if option.description else ""
    return f"{plain(option.label)}{value}{description}"


def _options_by_key(options: tuple[Option, ...]) -> dict[str, Option]:
    """What to type for each option: its number, or its value if the values of the field are numbers."""
    if any(option.value.isdigit() for option in options):
        return {option.value: option for option in options}
    return {str(number): option for number, option in enumerate(options, 1)}


def _fits_prompt(text: str) -> bool:
    return len(text) <= _SHORT and "\n" not in text


def _line(prompt: str) -> str:
    """One typed line, without the line break."""
    while True:
        try:
            line = _read_line(prompt)
        except UnicodeDecodeError:
            line = "\x00"
        except (EOFError, KeyboardInterrupt):
            _say()
            raise click.Abort from None
        if all(char >= " " and char != "\x7f" and not "\ud800" <= char <= "\udfff" for char in line.replace("\t", " ")):
            return line
        _say("this is not plain text; type it again without arrow keys")


def _read_line(prompt: str) -> str:
    if sys.stdin.isatty() and sys.stdout.isatty():  # `input` prints to stdout, which is not data here
        with suppress(ImportError):
            import readline  # noqa: F401 - lets `input` edit lines, if the module exists
        return input(prompt)
    click.echo(prompt, nl=False, err=True)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.removesuffix("\n")


def _read_boolean(field: FormField, options: tuple[Option, ...]) -> bool | None:
    default: bool | None = field.default if field.default is not None or field.required else False
    word = _line({None: "[y/n]> ", True: "[Y/n]> ", False: "[y/N]> "}[default])
    return default if not word.strip() and default is not None else _value_of_text(field, options, word)


def _read_text(field: FormField, _options: tuple[Option, ...]) -> str:
    default = field.default or ""
    hint = plain(default) if _fits_prompt(default) else "as above"
    if field.multiline:
        _say("  (an empty line ends the text)")
    first_line = _line(f"[{hint}]> " if default else "> ")
    if not first_line:
        return str(default)
    if not field.multiline or first_line.isspace():
        return "" if first_line.isspace() else first_line
    lines = [first_line]
    while line := _line("> "):
        lines.append(line)
    return "\n".join(lines)


def _read_one(field: FormField, options: tuple[Option, ...]) -> str | None:
    default = next((option.value for option in options if option.value == field.default), None)
    word = _line(f"[{plain(default)}]> " if default is not None else "> ").strip()
    return _value_of_word(word, options) if word else default


def _read_several(field: FormField, options: tuple[Option, ...]) -> list[str]:
    default = [option.value for option in options if option.value in (field.default or ())]
    _say(f"  (several with commas; `{_NOTHING}` for none)" if default else "  (several with commas)")
    words = _line(f"[{plain(', '.join(default))}]> " if default else "> ").strip()
    value: list[str] = _value_of_text(field, options, words) if words else default
    return value


def _value_of_text(field: FormField, options: tuple[Option, ...], text: str) -> Any:
    """The value that a typed text means. Raises `Unclear`."""
    word = text.strip()
    match field.type:
        case "boolean" if word.casefold() not in _WORDS:
            raise Unclear("type y or n")
        case "boolean":
            return _WORDS[word.casefold()]
        case "single-select":
            return _value_of_word(word, options)
        case "multi-select" if (value := _match(word, options)) is not None or word == _NOTHING:
            return [] if value is None else [value]
        case "multi-select":
            return [_value_of_word(part.strip(), options) for part in word.split(",") if part.strip()]
    return text


def _value_of_word(word: str, options: tuple[Option, ...]) -> str:
    value = _match(word, options)
    if value is None:
        keys = list(_options_by_key(options))
        examples = ", ".join(keys) if len(keys) <= 3 else f"{keys[0]}, {keys[1]}, … {keys[-1]}"
        raise Unclear(f"`{word}` is not one of the choices; type {examples}")
    return value


def _match(word: str, options: tuple[Option, ...]) -> str | None:
    """The option whose key, value or label was typed, in this order; None if none matches."""
    options_by_key = _options_by_key(options)
    if word in options_by_key:
        return options_by_key[word].value
    folded_word = word.casefold()
    exact = [o.value for o in options if o.value == word]
    near = [o.value for o in options if folded_word in (o.value.casefold(), o.label.casefold())]
    return exact[0] if exact else near[0] if len(near) == 1 else None


_READ: dict[str, Callable[[FormField, tuple[Option, ...]], Any]] = {
    "boolean": _read_boolean,
    "text": _read_text,
    "single-select": _read_one,
    "multi-select": _read_several,
}


def typed_answers(form: Form, words: Sequence[str], run: str) -> dict[str, Any]:
    """The answers of words such as `who=Ada`, read like what is typed after a question. Raises `UsageError`."""
    fields, values, wrong = {field.id: field for field in form.fields}, dict[str, Any](), dict[str, str]()
    for word in words:
        name, equals, text = word.partition("=")
        try:
            if not equals or name not in fields:
                what = f"there is no field `{name}`" if equals else "write FIELD=VALUE"
                raise Unclear(did_you_mean(name, fields) or f"{what}; fields: {some(list(fields))}")
            values[name] = _value_of_text(fields[name], choices(fields[name], values), text)
        except Unclear as error:
            wrong[name] = f"`{word}`: {error}"
    if wrong := {problem.field: problem.text for problem in problems(form, values)} | wrong:
        raise UsageError("; ".join(wrong.values()), f"`handrail answer {run} --show` prints the questions")
    return accept(form, values)


def print_form(shell: Shell, form: Form, *, is_asked_for: bool) -> None:
    """Print a form for a person who will answer it with a file. If it is asked for, the answers file is the result."""
    shell.insist(questions_text(form))
    (shell.say if is_asked_for else shell.insist)(skeleton(form))


def questions_text(form: Form) -> str:
    """The questions of a form as text, with a line that leads to its answers file."""
    parts = [plain(form.title), *([plain_lines(form.description)] if form.description else []), ""]
    for field in form.fields:
        need = "required" if field.required else "optional"
        label = "" if _is_title(form, field) else f": {field.label}"
        parts.append(plain(f"{field.id} ({field.type}, {need}{_condition_text(field.when)}){label}"))
        parts += [f"  {line}" for line in plain_lines(field.help).split("\n") if line]
        parts += [f"  - {_option_text(option, '')}{_condition_text(option.when)}" for option in field.options]
        if any(option.value != option.label for option in field.options):
            parts.append("  in the file, write the text in brackets where there is one")
    return "\n".join([*parts, "", "as an answers file:"])


def _condition_text(condition: When | None) -> str:
    return plain(f", only if `{condition.field}` is {' or '.join(map(as_text, condition.values))}") if condition else ""


def skeleton(form: Form) -> str:
    """An answers file for the form, to be filled in. It is safe to print."""
    body = {form.id: initial(form)}
    text = json.dumps(body, indent=2, ensure_ascii=False)
    return text if plain_lines(text) == text else json.dumps(body, indent=2)
