#!/usr/bin/env python3
"""Uses the server's installed package in a separate system, where Scripts/test-package --server runs this as root.

There is no systemd: this starts the program as the unit's account with the unit's state directory. Prints a line for each check, and
at the end "N passed, N failed".
"""

import glob
import grp
import json
import os
import pwd
import re
import socket
import stat
import subprocess
import sys
import urllib.error
import urllib.request

from person import apt, check, end

STATE = "/var/lib/touchstone-server"
SETTINGS = "/etc/touchstone/touchstone-server.conf"
ACCOUNT = "touchstone-server"


def as_account(*command):
    return subprocess.run(
        ["setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--init-groups", *command],
        capture_output=True,
        text=True,
    )


def request(path, port, body=None):
    """The status and the value of a response; 0: there is none."""
    made = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
    if body is not None:
        made.data = json.dumps(body).encode()
        made.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(made, timeout=60) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, {}
    except OSError:
        return 0, {}


class Server:
    """The service, started as its unit says, with a manager's socket."""

    def __init__(self):
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind("\0touchstone-manager")
        self.manager.settimeout(120)
        self.log = open("/tmp/server.log", "w")
        self.process = subprocess.Popen(
            ["setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--init-groups", "/usr/sbin/touchstone-server", "serve"],
            env={"STATE_DIRECTORY": STATE, "NOTIFY_SOCKET": "@touchstone-manager", "PATH": "/usr/bin:/bin"},
            stdout=self.log,
            stderr=self.log,
        )

    def report(self):
        try:
            return self.manager.recv(4096).decode()
        except TimeoutError:
            return ""

    def stop(self):
        self.process.terminate()
        return self.process.wait(timeout=120)

    def output(self):
        return open("/tmp/server.log").read()


package = sys.argv[1]
done = apt("install", "--no-install-recommends", package, "man-db", "util-linux")
check("the package installs with what it depends on", done.returncode == 0, done.stdout)
user = pwd.getpwnam(ACCOUNT)
check("its account cannot log in", user.pw_shell.endswith("nologin") and user.pw_dir == STATE, user)
mode = os.stat(SETTINGS)
check(
    "only the account's group can read the configuration",
    stat.S_IMODE(mode.st_mode) == 0o640 and mode.st_uid == 0 and mode.st_gid == grp.getgrnam(ACCOUNT).gr_gid,
    mode,
)
for place in (
    "/usr/lib/systemd/system/touchstone-server.service",
    "/usr/lib/systemd/system/touchstone-server.socket",
    "/usr/lib/systemd/system/touchstone-server-admin.socket",
    "/usr/share/bash-completion/completions/touchstone-server",
    "/usr/share/doc/touchstone-server/DEPLOY.md",
):
    check(place, os.path.isfile(place))
check("nothing is enabled", not glob.glob("/etc/systemd/system/*/touchstone-server*"))
unit = open("/usr/lib/systemd/system/touchstone-server.service").read()
check("the unit starts the installed program", "ExecStart=/usr/sbin/touchstone-server serve" in unit, unit)
done = subprocess.run(["man", "-w", "touchstone-server"], capture_output=True, text=True)
check("the manual page is found", done.returncode == 0, done.stderr)

# What the service manager does for StateDirectory=.
os.makedirs(STATE, exist_ok=True)
os.chmod(STATE, 0o700)
os.chown(STATE, user.pw_uid, user.pw_gid)
done = as_account("touchstone-server", "check-config")
check("check-config as the account", done.returncode == 0 and f"data-directory           = {STATE}" in done.stdout, done)
done = as_account("touchstone-server", "migrate")
check("migrate as the account", done.returncode == 0 and "migrated from version 0" in done.stdout, done)

server = Server()
check("the service reports that it serves", server.report().startswith("READY=1"), server.output())
check("it is ready", request("/health/ready", 8081)[0] == 200)
check("the API is served", request("/.well-known/webauthn", 8080)[0] == 200)
found = re.search(r"ts_bt_[A-Za-z0-9_-]+", server.output())
status, made = request("/admin/v1/bootstrap", 8081, {"token": found[0] if found else "", "name": "me"})
check("the printed token makes the first administrator", status in (200, 201) and "token" in made, made)
for name in ("accounts.sqlite", "attestation-ca.pem"):
    kept = os.stat(f"{STATE}/{name}")
    check(f"{name} is the account's alone", kept.st_uid == user.pw_uid and stat.S_IMODE(kept.st_mode) == 0o600, kept)

with open(SETTINGS, "a") as file:
    file.write("rp-name = Ours\n")
done = apt("install", "--reinstall", package)
check("an upgrade keeps the configuration", done.returncode == 0 and "rp-name = Ours" in open(SETTINGS).read(), done.stdout)
mode = os.stat(SETTINGS)
check("and its mode", stat.S_IMODE(mode.st_mode) == 0o640 and mode.st_gid == user.pw_gid, mode)
server.process.send_signal(1)
check("a reload is reported", server.report().startswith("RELOADING=1") and server.report().startswith("READY=1"), server.output())
check("with the changed setting", "rp-name is Ours" in server.output(), server.output())
check("it ends in order", server.stop() == 0 and server.report() == "STOPPING=1", server.output())
done = as_account("touchstone-server", "verify-audit")
check("verify-audit as the account", done.returncode == 0 and "whole" in done.stdout, done)

for action in ("remove", "purge"):
    done = apt(action, "touchstone-server")
    check(f"{action} of the package", done.returncode == 0, done.stdout)
    check("says where the accounts stay", f"accounts and keys stay in {STATE}" in done.stdout, done.stdout)
    check("leaves the accounts", os.path.isfile(f"{STATE}/accounts.sqlite"))
    check("and the configuration until it is purged", os.path.exists(SETTINGS) == (action == "remove"))
check("the account stays with its files", pwd.getpwnam(ACCOUNT).pw_uid == os.stat(STATE).st_uid)
left = subprocess.run(["dpkg", "-L", "touchstone-server"], capture_output=True, text=True).stdout.split()
check("nothing else is left", not left and not os.path.exists("/etc/touchstone"), left)

end()
