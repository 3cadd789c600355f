"""Runs a program as the lines of a systemd unit say, without systemd: UnitSandbox.swift says what for.

    unit-sandbox.py UNIT INSTANCE [--listen] [--keep PATH]... -- PROGRAM [ARGUMENT]...

Each line of the section [Service] is applied, or is one of those that only a service manager can do (MANAGERS_ALONE, with
the reason); any other ends this with status 2. --listen makes standard input the first socket of sd_listen_fds(3). --keep
has a path below /tmp or a home stay where it is. As root with CAP_SYS_ADMIN alone.
"""

import ctypes
import errno
import glob
import grp
import os
import pwd
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys

MANAGERS_ALONE = {
    "Type": "who reads the notification is the manager",
    "ExecStart": "the caller names the program",
    "TimeoutStopSec": "the manager ends services",
    "Restart": "the manager starts services",
    "MemorySwapMax": "a limit of a control group",
    "MemoryMax": "a limit of a control group",
    "TasksMax": "a limit of a control group",
    "IPAddressDeny": "a program of a control group; PrivateNetwork= is applied",
    "DevicePolicy": "a program of a control group",
    "DeviceAllow": "a program of a control group",
    "RemoveIPC": "done when the service has ended",
}

libc = ctypes.CDLL(None, use_errno=True)
seccomp = ctypes.CDLL("libseccomp.so.2", use_errno=True)
seccomp.seccomp_init.restype = ctypes.c_void_p
seccomp.seccomp_init.argtypes = [ctypes.c_uint32]

NEWNS, NEWUTS, NEWIPC, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x40000000
NAMESPACES = (0x80, NEWNS, 0x2000000, NEWUTS, NEWIPC, 0x10000000, 0x20000000, NEWNET)
RDONLY, NOSUID, NODEV, NOEXEC, BIND, REC, PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18


def fail(text, status=2):
    print(f"unit-sandbox: {text}", file=sys.stderr)
    sys.exit(status)


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
    held = [(place, os.open(place, os.O_PATH)) for place in kept if place.startswith(path + "/") and os.path.exists(place)]
    mount("tmpfs", path, "tmpfs", NOSUID | NODEV, f"mode={mode:o}")
    for place, descriptor in held:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.makedirs(place, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            open(place, "w").close()
        mount(f"/proc/self/fd/{descriptor}", place, None, BIND | REC)
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


# System calls


def groups_of_calls():
    """The sets of system calls by name, as the installed systemd has them."""
    program = shutil.which("systemd-analyze") or fail("systemd-analyze is not there")
    text = subprocess.run([program, "syscall-filter", "--no-pager"], capture_output=True, text=True, check=True).stdout
    sets, name = {}, None
    for line in text.split("\n"):
        if line.startswith("@"):
            name = line.strip()
            sets[name] = []
        elif line.startswith("    ") and name and line.strip()[0] != "#":
            sets[name].append(line.strip())
    return sets


def calls(names, sets):
    found = set()
    for name in names:
        if not name.startswith("@"):
            found.add(name)
        elif name in sets:
            found |= calls(sets[name], sets)
        else:
            fail(f"there is no set {name}")
    return found


class Compare(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("operation", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


NE, EQ, GT, MASKED = 1, 4, 6, 7
ALLOW, KILL = 0x7FFF0000, 0x80000000


def refusal(number):
    return 0x00050000 | number


class Filter:
    """A filter for seccomp(2), by libseccomp."""

    def __init__(self, default, native):
        self.context = ctypes.c_void_p(seccomp.seccomp_init(default))
        if not native:
            seccomp.seccomp_attr_set(self.context, 2, ALLOW)

    def add(self, action, name, *compares):
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number == -1:
            return  # of another architecture
        rules = (Compare * max(len(compares), 1))(*[Compare(*compare) for compare in compares])
        result = seccomp.seccomp_rule_add_array(self.context, action, number, len(compares), rules)
        if result not in (0, -errno.EDOM, -errno.EEXIST):
            fail(f"the rule for {name}: {os.strerror(-result)}", 1)

    def load(self):
        result = seccomp.seccomp_load(self.context)
        if result:
            fail(f"seccomp_load: {os.strerror(-result)}", 1)


def call_filters(box, sets):
    """The filters, the one that allows least last."""
    restricting, denied = Filter(ALLOW, box.native), refusal(errno.EPERM)
    if box.family:
        values = []
        for name in box.family:
            values.append({"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}.get(name) or fail(name))
        for value in set(range(max(values))) - set(values):
            restricting.add(refusal(errno.EAFNOSUPPORT), "socket", (0, EQ, value))
        restricting.add(refusal(errno.EAFNOSUPPORT), "socket", (0, GT, max(values)))
    if "RestrictNamespaces" in box.flags:
        for flag in NAMESPACES:
            restricting.add(denied, "unshare", (0, MASKED, flag, flag))
            restricting.add(denied, "clone", (0, MASKED, flag, flag))
        restricting.add(denied, "setns")
        restricting.add(refusal(errno.ENOSYS), "clone3")
    if "RestrictRealtime" in box.flags:
        for policy in (1, 2, 4, 6):
            restricting.add(denied, "sched_setscheduler", (1, EQ, policy))
        restricting.add(denied, "sched_setscheduler", (1, GT, 6))
    if "RestrictSUIDSGID" in box.flags:
        modes = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "mkdir": 1, "mkdirat": 2, "mknod": 1}
        modes |= {"mknodat": 2, "creat": 1}
        for bit in (stat.S_ISUID, stat.S_ISGID):
            for name, argument in modes.items():
                restricting.add(denied, name, (argument, MASKED, bit, bit))
            for name, argument in {"open": 1, "openat": 2}.items():
                create = (argument, MASKED, os.O_CREAT, os.O_CREAT)
                restricting.add(denied, name, create, (argument + 1, MASKED, bit, bit))
        restricting.add(refusal(errno.ENOSYS), "openat2")
    if "LockPersonality" in box.flags:
        restricting.add(denied, "personality", (0, NE, libc.personality(0xFFFFFFFF)))
    if "MemoryDenyWriteExecute" in box.flags:
        restricting.add(denied, "mmap", (2, MASKED, 6, 6))
        for name in ("mprotect", "pkey_mprotect"):
            restricting.add(denied, name, (2, MASKED, 4, 4))
        restricting.add(denied, "shmat", (2, MASKED, 0o100000, 0o100000))
    for flag, names in {
        "ProtectClock": ["@clock"],
        "ProtectHostname": ["sethostname", "setdomainname"],
        "ProtectKernelLogs": ["syslog"],
        "ProtectKernelModules": ["@module"],
        "PrivateDevices": ["@raw-io"],
    }.items():
        if flag in box.flags:
            for name in calls(names, sets):
                restricting.add(denied, name)
    found = [restricting]
    if box.filters:
        is_list_of_allowed = not box.filters[0].startswith("~")
        chosen = calls(["@default"], sets) if is_list_of_allowed else set()
        for line in box.filters:
            inverted = line.startswith("~")
            names = calls(line.lstrip("~").split(), sets)
            chosen = chosen | names if inverted != is_list_of_allowed else chosen - names
        other = refusal(getattr(errno, box.errno_name)) if box.errno_name else KILL
        whole = Filter(other if is_list_of_allowed else ALLOW, box.native)
        for name in chosen:
            whole.add(ALLOW if is_list_of_allowed else other, name)
        found.append(whole)
    return found


# The process


def ids(box):
    user = pwd.getpwnam(box.user) if box.user else None
    gid = grp.getgrnam(box.group).gr_gid if box.group else user.pw_gid if user else 0
    return user.pw_uid if user else 0, gid, [grp.getgrnam(name).gr_gid for name in box.groups]


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
    keep += {os.path.dirname(path) for path in re.findall(r"=> (/\S+)", libraries)}
    uid, gid, groups = ids(box)
    bounding = None if box.bounding is None else {CAPABILITIES.get(name) or fail(name) for name in box.bounding}

    if listens:
        os.dup2(0, 3)
        os.set_inheritable(3, True)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
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
        keyctl = seccomp.seccomp_syscall_resolve_name(b"keyctl")
        checked(libc.syscall(ctypes.c_long(keyctl), 1, None), "keyctl")
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
