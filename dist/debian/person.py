"""What session.py and machine.py have in common: a person who types on a terminal, and how a check is told."""

import glob
import os
import pty
import pwd
import re
import select
import subprocess
import sys
import time

PASSCODE = b"plankwigmure orbit hazel\n"
PATIENCE = 120
LIBEXEC = "/usr/libexec/touchstone/"
counts = {True: 0, False: 0}


def check(what, holds, seen=""):
    counts[bool(holds)] += 1
    print(("ok      " if holds else "FAILED  ") + what)
    if not holds and seen:
        print(seen)


def answer(*arguments, to=(), name="anna"):
    """Runs a command as a user on a terminal, and types each answer when the text before it has come.

    Returns its exit status and what the terminal showed.
    """
    user = pwd.getpwnam(name)
    child, terminal = pty.fork()
    if child == 0:
        os.fchown(0, user.pw_uid, -1)
        os.initgroups(user.pw_name, user.pw_gid)
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
        environment = {"HOME": user.pw_dir, "TERM": "xterm", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        os.chdir(user.pw_dir)
        os.execvpe(arguments[0], arguments, environment)
    seen, start, left = b"", 0, list(to)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                octets = os.read(terminal, 4096)
            except OSError:  # the other end is closed
                break
            if not octets:
                break
            seen += octets
        found = re.search(left[0][0], seen[start:]) if left else None
        if found:
            start += found.end()
            text = left.pop(0)[1]
            os.write(terminal, text(seen) if callable(text) else text)
    os.close(terminal)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, seen.decode(errors="replace")


def daemons(program="touchstoned"):
    """The processes that run the installed daemon, or one that was installed before."""
    found = []
    for link in glob.glob("/proc/[0-9]*/exe"):
        try:
            if os.readlink(link).split(" ")[0] == LIBEXEC + program:
                found.append(int(link.split("/")[2]))
        except OSError:
            pass
    return found


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


def apt(*arguments):
    return subprocess.run(
        ["apt-get", "-qq", "-y", *arguments],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def code(seen):
    return re.findall(rb"(?:[0-9A-Z]{4}-){6}[0-9A-Z]{4}", seen)[-1] + b"\n"


def end():
    """Says how many checks passed and failed, and ends with 1 where one failed."""
    print(f"{counts[True]} passed, {counts[False]} failed")
    sys.exit(counts[False] != 0)
