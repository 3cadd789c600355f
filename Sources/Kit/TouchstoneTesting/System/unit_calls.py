"""The lines of a unit that are about system calls, as filters of seccomp(2) by libseccomp: for unit-sandbox.py."""

import ctypes
import errno
import os
import shutil
import stat
import subprocess
import sys

seccomp = ctypes.CDLL("libseccomp.so.2", use_errno=True)
seccomp.seccomp_init.restype = ctypes.c_void_p
seccomp.seccomp_init.argtypes = [ctypes.c_uint32]

# CLONE_NEW… of clone(2): time, mounts, control groups, host names, IPC, users, processes, network.
NAMESPACES = (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)


def fail(text, status=2):
    print(f"unit-sandbox: {text}", file=sys.stderr)
    sys.exit(status)


def number_of(call):
    """A system call's number; -1 for one of another architecture."""
    return seccomp.seccomp_syscall_resolve_name(call.encode())


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
        number = number_of(name)
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
        restricting.add(denied, "personality", (0, NE, ctypes.CDLL(None).personality(0xFFFFFFFF)))
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
