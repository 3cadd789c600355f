#!/usr/bin/env python3
"""What a person does with the installed package, in a system of its own: Scripts/test-package runs it there as root.

Commands run as an ordinary user on a terminal of theirs, with pinentry-tty in front of the daemon. Prints a line for each
check, and at the end "N passed, N failed".
"""

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
counts = {True: 0, False: 0}


def check(what, holds, seen=""):
    counts[bool(holds)] += 1
    print(("ok      " if holds else "FAILED  ") + what)
    if not holds and seen:
        print(seen)


def answer(*arguments, to=()):
    """Runs a command as the user on a terminal, and types each answer when the text before it has come.

    Returns its exit status and what the terminal showed.
    """
    user = pwd.getpwnam("anna")
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


def daemons():
    """The processes that run the installed daemon, or one that was installed before."""
    found = []
    for link in glob.glob("/proc/[0-9]*/exe"):
        try:
            if os.readlink(link).startswith("/usr/libexec/touchstone/touchstoned"):
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


package = sys.argv[1]
done = apt("install", "--no-install-recommends", package, "pinentry-tty", "man-db", "bash-completion")
check("the package installs with what it depends on", done.returncode == 0, done.stdout)
subprocess.run(["useradd", "--create-home", "anna"], check=True)

status, seen = answer("touchstone", "--version")
check("touchstone --version", status == 0, seen)
status, seen = answer("sh", "-c", "man -w touchstone touchstoned git-credential-touchstone docker-credential-touchstone")
check("manual pages are found", status == 0, seen)
for place in (
    "/usr/share/bash-completion/completions/touchstone",
    "/usr/share/zsh/vendor-completions/_touchstone",
    "/usr/share/fish/vendor_completions.d/touchstone.fish",
):
    check(place, os.path.isfile(place))
status, seen = answer(
    "bash", "-c", "source /usr/share/bash-completion/bash_completion; _completion_loader touchstone; complete -p touchstone"
)
check("bash completes touchstone", status == 0, seen)
unit = open("/usr/lib/systemd/user/touchstoned.service").read()
check("the unit starts the installed daemon", "ExecStart=/usr/libexec/touchstone/touchstoned --foreground" in unit, unit)
check("its socket is enabled for all users", os.path.islink("/etc/systemd/user/sockets.target.wants/touchstoned.socket"))

agent = "/usr/libexec/touchstone/touchstone-agent"
if os.path.exists(agent):
    import grp

    seen = os.stat(agent)
    check(
        "the agent has the group that tells it",
        seen.st_mode & 0o7777 == 0o2755 and grp.getgrgid(seen.st_gid).gr_name == "touchstone-agent",
        oct(seen.st_mode),
    )
if os.path.exists("/usr/lib/sysusers.d/touchstone.conf"):
    check("there is an account of its own", "touchstone" in [user.pw_name for user in pwd.getpwall()])
check("nothing of system mode is enabled", not glob.glob("/etc/systemd/system/*/touchstone*"))
status, seen = answer("touchstone", "system", "enable")
check("system mode is root's to enable", status == 7 and "sudo touchstone system enable" in seen, seen)

status, seen = answer(
    "touchstone",
    "setup",
    to=[
        (rb"Passcode: $", PASSCODE),
        (rb"Again: $", PASSCODE),
        (rb"Press any key to continue", b"\n"),
        (rb"[Cc]ode: ?$", code),
    ],
)
check("setup", status == 0, seen)
check("its box names the program by its path", "Requested by /usr/bin/touchstone (process " in seen, seen)
status, seen = answer("sh", "-c", "printf s3cret | touchstone set token --require passcode")
check("set", status == 0, seen)
status, seen = answer("touchstone", "get", "--show", "token", to=[(rb"Passcode: $", PASSCODE)])
check("get, with the passcode", status == 0 and "s3cret" in seen, seen)
status, seen = answer("touchstone", "doctor")
check("doctor finds the daemon and its keychain", status == 0 and "fail  " not in seen, seen)

before = daemons()
check("one daemon runs", len(before) == 1)
done = apt("install", "--reinstall", package)
check("an upgrade", done.returncode == 0, done.stdout)
check("it ends the former daemon", wait_for(lambda: not daemons()))
status, seen = answer(
    "touchstone", "get", "--show", "token", to=[(rb"Passcode: $", PASSCODE), (rb"Passcode: $", PASSCODE)]
)
check("the keychain is there after it, locked", status == 0 and "Passcode: " in seen and "s3cret" in seen, seen)

os.makedirs("/var/lib/touchstone/4711", exist_ok=True)
with open("/var/lib/touchstone/4711/keybag", "w") as file:
    file.write("a keychain of system mode")
keychain = glob.glob("/home/anna/.local/share/touchstone/*")
for action in ("remove", "purge"):
    done = apt(action, "touchstone")
    check(f"{action} of the package", done.returncode == 0, done.stdout)
    check("ends the daemon", wait_for(lambda: not daemons()))
    kept = glob.glob("/home/anna/.local/share/touchstone/*")
    check("leaves the keychain to its user", {"keybag", "items.sqlite"} <= {os.path.basename(file) for file in kept}, kept)
check("keychains of system mode stay", os.path.isfile("/var/lib/touchstone/4711/keybag"))
left = [file for file in subprocess.run(["dpkg", "-L", "touchstone"], capture_output=True, text=True).stdout.split()]
check("nothing else is left", not left and not glob.glob("/etc/systemd/user/*/touchstoned*"), left)

print(f"{counts[True]} passed, {counts[False]} failed")
sys.exit(counts[False] != 0)
