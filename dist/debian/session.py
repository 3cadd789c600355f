#!/usr/bin/env python3
"""Uses the installed package in a separate system, where Scripts/test-package runs this as root.

Commands run as an ordinary user on a terminal, and the daemon prompts with pinentry-tty. There is no systemd: for system mode
this creates the sockets of its units, and starts their programs for the first client. Prints a line for each check, and at
the end "N passed, N failed".
"""

import glob
import grp
import os
import pwd
import re
import select
import socket
import stat
import subprocess
import sys
import threading
import time

from person import LIBEXEC, PASSCODE, answer, apt, check, code, daemons, end, wait_for


class Unit:
    """A socket unit with its program, like the service manager's: a client starts the program."""

    def __init__(self, path, kind, owner, command):
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        if os.path.exists(path):
            os.unlink(path)
        self.listener = socket.socket(socket.AF_UNIX, kind)
        self.listener.bind(path)
        os.chmod(path, 0o600)
        os.chown(path, owner, 0)
        self.listener.listen(64)
        self.command = command
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        pass_on = 'exec 3<&0 </dev/null; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@"'
        while True:
            select.select([self.listener], [], [])
            with open("/tmp/units.log", "a") as log:
                subprocess.run(["sh", "-c", pass_on, "sh", *self.command], stdin=self.listener, stderr=log)
            time.sleep(0.2)  # in case it exits at once: its clients are still waiting


def in_system_mode(command):
    """A command on a terminal with the agent, which ends with the command."""
    return (
        "sh",
        "-c",
        f'mkfifo ready; {LIBEXEC}touchstone-agent --terminal >ready & read line <ready; rm ready; {command}; '
        "status=$?; kill $!; wait $!; exit $status",
    )


package, *others = sys.argv[1:]
done = apt("install", "--no-install-recommends", package, *others, "pinentry-tty", "man-db", "bash-completion")
check("the package installs with what it depends on", done.returncode == 0, done.stdout)
subprocess.run(["useradd", "--create-home", "anna"], check=True)

status, seen = answer("touchstone", "--version")
check("touchstone --version", status == 0, seen)
pages = "touchstone touchstoned touchstone-agent touchstone-broker git-credential-touchstone docker-credential-touchstone touchstone-git-sign"
pages += " touchstone-askpass pinentry-touchstone"
status, seen = answer("sh", "-c", f"man -w {pages}")
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

for place, mode in {
    LIBEXEC + "touchstoned": 0o755,
    LIBEXEC + "touchstone-broker": 0o755,
    "/usr/lib/systemd/system/touchstoned@.service": 0o644,
    "/usr/lib/systemd/system/touchstoned@.socket": 0o644,
    "/usr/lib/systemd/system/touchstone-broker.service": 0o644,
    "/usr/lib/systemd/system/touchstone-broker.socket": 0o644,
    "/usr/lib/systemd/system/user-runtime-dir@.service.d/touchstone.conf": 0o644,
    "/usr/lib/systemd/user/touchstone-agent.service": 0o644,
    "/usr/lib/systemd/user/touchstone-backup.service": 0o644,
    "/usr/lib/systemd/user/touchstone-backup.timer": 0o644,
    "/usr/lib/sysusers.d/touchstone.conf": 0o644,
    "/usr/lib/tmpfiles.d/touchstone.conf": 0o644,
    "/usr/share/polkit-1/rules.d/50-touchstone.rules": 0o644,
}.items():
    seen = os.lstat(place) if os.path.lexists(place) else None
    check(place, seen and (stat.S_IMODE(seen.st_mode), seen.st_uid, seen.st_gid) == (mode, 0, 0), str(seen))
for unit in ("system/touchstoned@.service", "system/touchstone-broker.service", "user/touchstone-agent.service",
             "user/touchstone-backup.service"):
    program = re.search(r"^ExecStart=(\S+)", open(f"/usr/lib/systemd/{unit}").read(), re.MULTILINE)
    check(f"{unit} starts an installed program", program and os.access(program[1], os.X_OK), str(program))


def agent(name="touchstone-agent"):
    seen = os.stat(LIBEXEC + name)
    return f"{seen.st_mode & 0o7777:o} {pwd.getpwuid(seen.st_uid).pw_name}:{grp.getgrgid(seen.st_gid).gr_name}"


check("the agent has the group that tells it", agent() == "2755 root:touchstone-agent", agent())
door = agent("touchstone-secrets")
check("the door has the group that tells it", door == "2755 root:touchstone-door", door)
for group in ("touchstone-agent", "touchstone-door"):
    check(f"nobody is in {group}", grp.getgrnam(group).gr_mem == [])
account = pwd.getpwnam("touchstone")
check("there is an account of its own, for nobody to sign in to", account.pw_shell.endswith("nologin"), str(account))
check("it may use the TPM", grp.getgrnam("tss").gr_mem == ["touchstone"], str(grp.getgrnam("tss")))
for place in ("/var/lib/touchstone", "/run/touchstone"):
    seen = os.stat(place)
    check(f"{place} is root's", (stat.S_IMODE(seen.st_mode), seen.st_uid) == (0o755, 0), str(seen))
wanted = "/etc/systemd/user/graphical-session.target.wants/touchstone-agent.service"
check("the agent's unit is enabled for all users", os.path.islink(wanted))
unit = open("/usr/lib/systemd/user/touchstone-agent.service").read()
check("and starts for those in system mode alone", "\nConditionPathExists=/run/touchstone/%U/socket\n" in unit, unit)
check("nothing of system mode is enabled", not glob.glob("/etc/systemd/system/*/touchstone*"))
status, seen = answer("touchstone", "system", "status")
check("no part of system mode is missing", status == 0 and "fail  " not in seen, seen)
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

# The administrator's own mode for the agent.
subprocess.run(["dpkg-statoverride", "--add", "root", "root", "0755", LIBEXEC + "touchstone-agent"], check=True)
done = apt("install", "--reinstall", package)
check("an upgrade keeps the administrator's own mode of the agent", agent() == "755 root:root", agent() + done.stdout)
status, seen = answer("touchstone", "system", "enable", "--user", "anna", "--yes", name="root")
check("and enable refuses an agent that no daemon believes", status == 7 and "mode 755" in seen, seen)
subprocess.run(["dpkg-statoverride", "--remove", LIBEXEC + "touchstone-agent"], check=True)
done = apt("install", "--reinstall", package)
check("without that choice it is the package's", agent() == "2755 root:touchstone-agent", agent() + done.stdout)

# System mode, with the installed programs.
subprocess.run(["useradd", "--create-home", "berta"], check=True)
anna = pwd.getpwnam("anna")
run, store = f"/run/touchstone/{anna.pw_uid}/socket", f"/var/lib/touchstone/{anna.pw_uid}"
as_account = ["setpriv", "--reuid=touchstone", "--regid=touchstone", "--init-groups"]
as_account += [LIBEXEC + "touchstoned", "--foreground", "--owner", str(anna.pw_uid)]
broker_socket = "/run/touchstone-broker/socket"
# Without systemd there are no units by which the broker could tell users' daemons apart.
Unit(broker_socket, socket.SOCK_SEQPACKET, account.pw_uid, [LIBEXEC + "touchstone-broker", "--all-users"])
Unit(run, socket.SOCK_STREAM, anna.pw_uid, as_account)
status, seen = answer("touchstone", "system", "enable", "--user", "anna", "--yes", "--later", name="root")
check("system enable", status == 0 and os.path.isfile(store + "/keybag"), seen)
seen = os.stat(store)
check("the keychain is the account's", (stat.S_IMODE(seen.st_mode), seen.st_uid) == (0o700, account.pw_uid), str(seen))
get = "touchstone get --show token"
status, seen = answer(*in_system_mode(get), to=[(rb"Passcode: $", PASSCODE), (rb"Passcode: $", PASSCODE)])
check("get in system mode, by the agent's box", status == 0 and "s3cret" in seen, seen)
status, seen = answer("touchstone", "status", "--json")
check("its keys are the account's", '"softwareSystem"' in seen, seen)
status, seen = answer("sh", "-c", f"cat {store}/keybag /proc/{daemons()[0]}/environ || kill {daemons()[0]}")
check("the user reads neither its files nor the daemon, and cannot end it", status != 0 and daemons(), seen)
status, seen = answer("touchstone", "list", name="berta")
check("another user sees nothing of it", "token" not in seen, seen)
status, seen = answer("touchstone", "system", "enable", "--user", "anna", "--yes", name="root")
check("system enable once more checks it, and ends the move", status == 0, seen)
check("the former files are gone", not os.path.exists("/home/anna/.local/share/touchstone/keybag"))

before = daemons() + daemons("touchstone-broker")
done = apt("install", "--reinstall", package)
check("an upgrade in system mode", done.returncode == 0, done.stdout)
check("it ends daemon and broker", wait_for(lambda: not set(before) & set(daemons() + daemons("touchstone-broker"))))
status, seen = answer(*in_system_mode(get), to=[(rb"Passcode: $", PASSCODE), (rb"Passcode: $", PASSCODE)])
check("the next request starts it, locked", status == 0 and "Passcode: " in seen and "s3cret" in seen, seen)

done = apt("remove", "touchstone")
told = f"touchstone: the keychain of anna stays in {store}: install the package again to use it"
check("removal says where the keychain stays", done.returncode == 0 and told in done.stdout, done.stdout)
check("ends all of its programs", wait_for(lambda: not daemons() + daemons("touchstone-broker")))
done = apt("install", "--no-install-recommends", package)
status, seen = answer(*in_system_mode(get), to=[(rb"Passcode: $", PASSCODE), (rb"Passcode: $", PASSCODE)])
check("installed again, the keychain is there", status == 0 and "s3cret" in seen, seen + done.stdout)
status, seen = answer("touchstone", "system", "disable", "--user", "anna", "--yes", "--later", name="root")
check("system disable", status == 0 and os.path.isfile("/home/anna/.local/share/touchstone/keybag"), seen)
check("the socket's name is gone, by which programs know the mode", not os.path.exists(run))
status, seen = answer("touchstone", "get", "--show", "token", to=[(rb"Passcode: $", PASSCODE), (rb"Passcode: $", PASSCODE)])
check("get by the user's own daemon again", status == 0 and "s3cret" in seen, seen)

os.makedirs("/var/lib/touchstone/4711", exist_ok=True)
with open("/var/lib/touchstone/4711/keybag", "w") as file:
    file.write("a keychain of system mode")
keychain = glob.glob("/home/anna/.local/share/touchstone/*")
for action in ("remove", "purge"):
    done = apt(action, "touchstone")
    check(f"{action} of the package", done.returncode == 0, done.stdout)
    check("ends the daemon", wait_for(lambda: not daemons()))
    kept = glob.glob("/home/anna/.local/share/touchstone/*")
    check("says where one of system mode stays", "user 4711 stays in /var/lib/touchstone/4711" in done.stdout, done.stdout)
    check("leaves the keychain to its user", {"keybag", "items.sqlite"} <= {os.path.basename(file) for file in kept}, kept)
check("keychains of system mode stay", os.path.isfile("/var/lib/touchstone/4711/keybag"))
left = [file for file in subprocess.run(["dpkg", "-L", "touchstone"], capture_output=True, text=True).stdout.split()]
check("nothing else is left", not left and not glob.glob("/etc/systemd/*/*/touchstone*"), left)

end()
