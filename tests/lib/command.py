"""How Python here runs another program."""

import subprocess
from collections import namedtuple

Ended = namedtuple("Ended", "status out err")


class Failed(SystemExit):
    """What cannot go on: where nobody handles it, the message is printed, and the status
    is 1."""


def run(*command, allowed=(0,), given=None, together=False, encoding="utf-8", **how):
    """Waits for a command: its status, which must be an allowed one, if any are named, and
    what it prints, the errors with the rest if they belong together. Without an encoding
    bytes go in and out; `how` is cwd, env, timeout, … of subprocess.run."""
    done = subprocess.run(
        [str(word) for word in command], input=given, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if together else subprocess.PIPE, encoding=encoding,
        errors=encoding and "replace", **{} if given is not None else
        {"stdin": subprocess.DEVNULL}, **how)
    if allowed and done.returncode not in allowed:
        said = done.stdout if together else done.stderr
        raise Failed(f"{' '.join(map(str, command))}: status {done.returncode}\n"
                     + (said if encoding else said.decode("utf-8", "replace"))[-2000:])
    return Ended(done.returncode, done.stdout, done.stderr)
