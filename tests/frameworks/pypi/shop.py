"""What the jobs of every Python framework carry and throw, and the lines that a program prints."""

import json
import os
import sys

DATABASE = os.environ["DATABASE_URL"]
VERB, WORDS = sys.argv[1], sys.argv[2:]
BROKEN = WORDS[:1] == ["failing"]
OTHERWISE = WORDS == ["failing", "otherwise"]

HIDDEN = {
    "unicode": {"naïve": "ключ 💥", "rtl": "שלום", "escape": "\x1b[31mred"},
    "big": {"lines": [{"n": n, "text": "x" * 30} for n in range(800)]},
}


class PaymentDeclined(Exception):
    """The error of payment code; it is known by its module too."""


def payload(kind, marker):
    """The arguments of a job: its marker, by which it is known everywhere, and what the kind adds."""
    return {"marker": marker, "kind": kind, "amount": "12.50", **HIDDEN.get(kind, {})}


def fail(kind, marker):
    """Raises as jobs of this kind do; `otherwise` all the same, which is none of theirs."""
    if OTHERWISE:
        raise LookupError(f"nothing known of {marker}")
    match kind:
        case "multiline":
            raise PaymentDeclined(f"first line of {marker}\nsecond line\n\n    an indented one")
        case "empty":
            raise ValueError()
        case "unicode":
            raise TypeError(f"ошибка {marker} — 失敗 💥 \x07bell")
        case "big":
            raise RuntimeError(f"{marker} " + "too much " * 500)
        case "cause":
            try:
                {}[f"inner of {marker}"]
            except KeyError as inner:
                raise RuntimeError(f"outer of {marker}") from inner
        case _:
            raise PaymentDeclined(f"declined: {marker}")


def say(**line):
    print(json.dumps(line), flush=True)


def name(error):
    """The class of an error as a traceback writes it."""
    return error.__qualname__ if error.__module__ == "builtins" else f"{error.__module__}.{error.__qualname__}"


def run(kind, marker):
    """Runs a job: raises where the world is broken, and says in either case what happened."""
    if not BROKEN:
        return say(ran=marker, kind=kind, ok=True)
    try:
        fail(kind, marker)
    except Exception as error:
        say(ran=marker, kind=kind, ok=False, **{"class": name(type(error)), "message": str(error)})
        raise


def jobs():
    """The jobs that the command line names, each as KIND/MARKER."""
    return [word.split("/", 1) for word in WORDS]
