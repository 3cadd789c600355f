"""Runs a program as the lines of a systemd unit say, without systemd: UnitSandbox.swift says what for.

    unit-sandbox.py UNIT INSTANCE [--listen] [--keep PATH]... -- PROGRAM [ARGUMENT]...

Each line of the section [Service] is applied, or is one of those that only a service manager can do (MANAGERS_ALONE, with
the reason); any other ends this with status 2. --listen makes standard input the first socket of sd_listen_fds(3), and one
that is made at /run/touchstone/INSTANCE/ssh-agent the second, if INSTANCE is a user. --keep has a path below /tmp or a home
stay where it is. As root with CAP_SYS_ADMIN alone.
"""

import ctypes
import errno
import fcntl
import glob
import grp
import os
import pwd
import re
import resource
import signal
import socket
import stat
import subprocess
import sys

from unit_calls import call_filters, fail, groups_of_calls, number_of

MANAGERS_ALONE = {
    "Type": "who reads the notification is the manager",
    "ExecStart": "the caller names the program",
    "ExecReload": "the manager reloads services",
    "TimeoutStopSec": "the manager ends services",
    "Restart": "the manager starts services",
    "RestartSec": "the manager starts services",
    "RestartPreventExitStatus": "the manager starts services",
    "SuccessExitStatus": "the manager judges exit statuses",
    "MemorySwapMax": "a limit of a control group",
    "MemoryMax": "a limit of a control group",
    "TasksMax": "a limit of a control group",
    "IPAddressDeny": "a program of a control group; PrivateNetwork= is applied",
    "DevicePolicy": "a program of a control group",
    "DeviceAllow": "a program of a control group",
    "RemoveIPC": "done when the service has ended",
}

libc = ctypes.CDLL(None, use_errno=True)

NEWNS, NEWUTS, NEWIPC, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x40000000
RDONLY, NOSUID, NODEV, NOEXEC, BIND, REC, PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18


def checked(result, what):
    if result < 0:
        fail(f"{what}: {os.strerror(ctypes.get_errno())}", 1)
    return result


def prctl(option, *arguments):
    values = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    return libc.prctl(option, *values)


# The unit


def read(path, instance):
    """The lines of [Service], and what they may be."""
    section, lines, text = None, [], open(path).read().replace("\\\n", " ")
    for line in text.split("\n"):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[":
            section = line
            if section not in ("[Unit]", "[Service]", "[Install]"):
                fail(f"no section of a service: {line}")
            continue
        name, equals, value = line.partition("=")
        if not equals:
            fail(f"no setting: {line}")
        # The other sections say when a manager starts it.
        if section != "[Service]":
            continue
        if name not in MANAGERS_ALONE and name not in SETTINGS:
            fail(f"{name}= is not known")
        lines.append((name, value.replace("%i", instance)))
    return lines


def boolean(value):
    if value not in ("yes", "no"):
        fail(f"neither yes nor no: {value}")
    return value == "yes"


def number(value):
    found = re.fullmatch(r"(\d+)([KMG]?)", value) or fail(f"no number: {value}")
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2]]


class Sandbox:
    """What is to be done, in the order in which it can be done."""

    def __init__(self):
        self.user = self.group = None
        self.groups, self.state, self.state_mode = [], [], 0o755
        self.empty, self.binds, self.filters = [], [], []
        self.family, self.errno_name, self.native = [], None, False
        self.bounding = None
        self.flags, self.limits, self.umask, self.score = set(), {}, 0o022, None
        self.proc = self.system = None


SETTINGS = {
    "User": lambda box, value: setattr(box, "user", value),
    "Group": lambda box, value: setattr(box, "group", value),
    "SupplementaryGroups": lambda box, value: box.groups.extend(value.split()),
    "StateDirectory": lambda box, value: box.state.extend(value.split()),
    "StateDirectoryMode": lambda box, value: setattr(box, "state_mode", int(value, 8)),
    "TemporaryFileSystem": lambda box, value: box.empty.extend(value.split()),
    "BindPaths": lambda box, value: box.binds.extend(value.split()),
    "UMask": lambda box, value: setattr(box, "umask", int(value, 8)),
    "LimitCORE": lambda box, value: box.limits.update({resource.RLIMIT_CORE: number(value)}),
    "LimitMEMLOCK": lambda box, value: box.limits.update({resource.RLIMIT_MEMLOCK: number(value)}),
    "LimitNOFILE": lambda box, value: box.limits.update({resource.RLIMIT_NOFILE: number(value)}),
    "OOMScoreAdjust": lambda box, value: setattr(box, "score", value),
    "CapabilityBoundingSet": lambda box, value: setattr(box, "bounding", value.split()),
    "AmbientCapabilities": lambda box, value: value == "" or fail("ambient capabilities are not known"),
    "ProtectProc": lambda box, value: setattr(box, "proc", value),
    "ProtectSystem": lambda box, value: setattr(box, "system", value),
    "KeyringMode": lambda box, value: value == "private" and box.flags.add("keyring") or value == "private" or fail(value),
    "RestrictAddressFamilies": lambda box, value: box.family.extend(value.split()),
    "SystemCallArchitectures": lambda box, value: value == "native" and setattr(box, "native", True) or box.native or fail(value),
    "SystemCallFilter": lambda box, value: box.filters.append(value),
    "SystemCallErrorNumber": lambda box, value: setattr(box, "errno_name", value),
}
for switch in (
    "NoNewPrivileges ProtectHome PrivateTmp PrivateDevices PrivateNetwork PrivateIPC ProtectClock ProtectHostname"
    " ProtectKernelLogs ProtectKernelModules ProtectKernelTunables ProtectControlGroups RestrictNamespaces"
    " RestrictRealtime RestrictSUIDSGID LockPersonality MemoryDenyWriteExecute"
).split():
    SETTINGS[switch] = lambda box, value, switch=switch: boolean(value) and box.flags.add(switch)

# Mounts


def mount(source, target, kind=None, flags=0, data=None):
    octets = [None if text is None else text.encode() for text in (source, target, kind, data)]
    checked(libc.mount(octets[0], octets[1], octets[2], ctypes.c_ulong(flags), octets[3]), f"mount {target}")


def attribute(path, read_only, recursive=True):
    """mount_setattr(2): read-only or not, also for what is mounted below."""

    class MountAttribute(ctypes.Structure):
        _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "namespace")]

    change = MountAttribute(RDONLY if read_only else 0, 0 if read_only else RDONLY, 0, 0)
    flags = 0x8000 if recursive else 0
    result = libc.syscall(ctypes.c_long(442), -100, path.encode(), flags, ctypes.byref(change), ctypes.c_size_t(32))
    checked(result, f"mount_setattr {path}")


def over(path, kept, mode):
    """An empty directory in the place of one, with those kept that lie in it."""
    held = []
    for place in kept:
        if place.startswith(path + "/"):
            try:
                held.append((place, os.open(place, os.O_PATH)))
            except FileNotFoundError:  # Another test's, which has ended.
                pass
    mount("tmpfs", path, "tmpfs", NOSUID | NODEV, f"mode={mode:o}")
    for place, descriptor in held:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.makedirs(place, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            open(place, "w").close()
        source = f"/proc/self/fd/{descriptor}".encode()
        if libc.mount(source, place.encode(), None, ctypes.c_ulong(BIND | REC), None) != 0:
            number = ctypes.get_errno()
            # What was removed since then cannot be mounted.
            if number != errno.ENOENT or os.fstat(descriptor).st_nlink > 0:
                fail(f"mount {place}: {os.strerror(number)}", 1)
        os.close(descriptor)


def read_only(path):
    if os.path.exists(path):
        mount(path, path, None, BIND | REC)
        attribute(path, True)


def mounts(box, kept):
    checked(libc.unshare(NEWNS), "unshare")
    mount(None, "/", None, REC | PRIVATE)
    if "PrivateTmp" in box.flags:
        for path in ("/tmp", "/var/tmp"):
            over(path, kept, 0o1777)
    if "PrivateDevices" in box.flags:
        names = ("null", "zero", "full", "random", "urandom", "tty", "pts", "ptmx", "shm")
        over("/dev", ["/dev/" + name for name in names], 0o755)
    if "ProtectHome" in box.flags:
        for path in ("/home", "/root", "/run/user"):
            if os.path.isdir(path):
                inside = [place for place in kept if place.startswith(path + "/")]
                over(path, kept, 0o711 if inside else 0)
                attribute(path, True, False)
    states = ["/var/lib/" + name for name in box.state]
    for path in states:
        if not os.path.isdir(path):
            os.makedirs(path, box.state_mode)
            os.chown(path, *ids(box)[:2])
    held = {}
    for path in box.binds + states:
        held[path] = os.open(path, os.O_PATH)
    for line in box.empty:
        path, _, options = line.partition(":")
        mount("tmpfs", path, "tmpfs", NOSUID | NODEV, "mode=755")
        for inner, descriptor in held.items():
            if inner.startswith(path + "/"):
                os.makedirs(inner)
        if "ro" in options.split(","):
            attribute(path, True, False)
    for path, descriptor in held.items():
        mount(f"/proc/self/fd/{descriptor}", path, None, BIND | REC)
        os.close(descriptor)
    if box.system == "strict":
        # As systemd has it: all of it but the API's file systems and what the unit names.
        attribute("/", True)
        for path in ["/dev", "/proc", "/sys", *states, *(["/tmp", "/var/tmp"] if "PrivateTmp" in box.flags else [])]:
            attribute(path, False)
    elif box.system is not None:
        fail(f"ProtectSystem={box.system} is not known")
    if box.proc == "invisible":
        mount("proc", "/proc", "proc", NOSUID | NODEV | NOEXEC, "hidepid=invisible")
    elif box.proc is not None:
        fail(f"ProtectProc={box.proc} is not known")
    if "ProtectKernelTunables" in box.flags:
        for path in ("/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/sys"):
            read_only(path)
    if "ProtectControlGroups" in box.flags:
        read_only("/sys/fs/cgroup")
    if "ProtectKernelLogs" in box.flags:
        for path in ("/proc/kmsg", "/dev/kmsg"):
            if os.path.exists(path):
                mount("/dev/null", path, None, BIND)
    if "ProtectKernelModules" in box.flags and os.path.isdir("/usr/lib/modules"):
        mount("tmpfs", "/usr/lib/modules", "tmpfs", RDONLY, "mode=000")


# The process


def ids(box):
    user = pwd.getpwnam(box.user) if box.user else None
    gid = grp.getgrnam(box.group).gr_gid if box.group else user.pw_gid if user else 0
    return user.pw_uid if user else 0, gid, [grp.getgrnam(name).gr_gid for name in box.groups]


def agent_sockets(instance):
    """The listening socket of the user's ssh-agent, as the socket unit makes it; none for an instance that is no user."""
    path = f"/run/touchstone/{instance}/ssh-agent"
    if not instance.isdigit() or not os.path.isdir(os.path.dirname(path)):
        return []
    if os.path.lexists(path):
        os.unlink(path)
    with socket.socket(socket.AF_UNIX) as listener:
        os.fchmod(listener.fileno(), 0o600)
        listener.bind(path)
        os.chown(path, int(instance), 0)
        listener.listen(64)
        return [fcntl.fcntl(listener.fileno(), fcntl.F_DUPFD, 10)]


CAPABILITIES = {"CAP_SYS_PTRACE": 19, "CAP_DAC_READ_SEARCH": 2}


def main(arguments):
    unit, instance, keep, listens = arguments.pop(0), arguments.pop(0), [], False
    while (option := arguments.pop(0)) != "--":
        if option == "--listen":
            listens = True
        elif option == "--keep":
            keep += glob.glob(arguments.pop(0))
    # Places that are made on the way are for all to go through.
    os.umask(0o022)
    box = Sandbox()
    for name, value in read(unit, instance):
        if name in SETTINGS:
            SETTINGS[name](box, value)
    sets = groups_of_calls()
    # Libraries of a program that was built here, in somebody's home.
    libraries = subprocess.run(["ldd", arguments[0]], capture_output=True, text=True).stdout
    keep += {os.path.dirname(path) for path in (arguments[0], *re.findall(r"=> (/\S+)", libraries))}
    uid, gid, groups = ids(box)
    bounding = None if box.bounding is None else {CAPABILITIES.get(name) or fail(name) for name in box.bounding}

    if listens:
        sockets = [fcntl.fcntl(0, fcntl.F_DUPFD, 10), *agent_sockets(instance)]
        for number, descriptor in enumerate(sockets):
            os.dup2(descriptor, 3 + number)
            os.close(descriptor)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.environ.update(LISTEN_FDS=str(len(sockets)), LISTEN_PID=str(os.getpid()))
    if box.score:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(box.score)
    spaces = {"PrivateNetwork": NEWNET, "PrivateIPC": NEWIPC, "ProtectHostname": NEWUTS}
    for flag, space in spaces.items():
        if flag in box.flags:
            checked(libc.unshare(space), flag)
    mounts(box, keep)
    os.umask(box.umask)
    for limit, value in box.limits.items():
        try:
            resource.setrlimit(limit, (value, value))
        except ValueError:  # A container's root may not raise one: then it is that of the container.
            value = resource.getrlimit(limit)[1]
            resource.setrlimit(limit, (value, value))
    if "keyring" in box.flags:
        checked(libc.syscall(ctypes.c_long(number_of("keyctl")), 1, None), "keyctl")
    checked(prctl(47, 4), "PR_CAP_AMBIENT")
    if bounding is not None:
        capability = 0
        while prctl(23, capability) >= 0:
            if capability not in bounding:
                checked(prctl(24, capability), "PR_CAPBSET_DROP")
            capability += 1
    os.chdir("/")
    os.setgroups(groups)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    checked(prctl(1, signal.SIGKILL), "PR_SET_PDEATHSIG")
    if "NoNewPrivileges" in box.flags or box.filters:
        checked(prctl(38, 1), "PR_SET_NO_NEW_PRIVS")
    filters = call_filters(box, sets)
    if "MemoryDenyWriteExecute" in box.flags and prctl(65, 1) < 0 and ctypes.get_errno() != errno.EINVAL:
        fail("PR_SET_MDWE", 1)
    for filter in filters:
        filter.load()
    os.execv(arguments[0], arguments)


main(sys.argv[1:])
