#!/usr/bin/env python3
"""Starts a program with sockets, as systemd does for socket units, and again at each SIGUSR1 that comes after it has ended.

    passed_sockets.py [--starts COUNT] [--pid PID] [NAME=KIND]... -- PROGRAM [ARGUMENT]...

KIND is tcp, tcp6, any (all addresses), udp, unix, bound (it does not listen) or file. Prints the ports and the process of each
start, and ends with the program's last exit status.
"""

import ctypes
import fcntl
import os
import signal
import socket
import sys

PR_SET_PDEATHSIG = 1


def made(kind):
    """The descriptor, and the port or 0."""
    if kind == "file":
        return open("/dev/null"), 0
    families = {"tcp6": socket.AF_INET6, "unix": socket.AF_UNIX}
    address = {"tcp6": ("::1", 0), "any": ("0.0.0.0", 0), "unix": ""}.get(kind, ("127.0.0.1", 0))
    made = socket.socket(
        families.get(kind, socket.AF_INET), socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM
    )
    made.bind(address)
    if kind not in ("udp", "bound"):
        made.listen(64)
    return made, 0 if kind == "unix" else made.getsockname()[1]


def main(arguments):
    starts, pid, names, sockets, ports = 1, None, [], [], []
    while (word := arguments.pop(0)) != "--":
        if word == "--starts":
            starts = int(arguments.pop(0))
        elif word == "--pid":
            pid = arguments.pop(0)
        else:
            name, kind = word.split("=")
            socket_or_file, port = made(kind)
            names.append(name)
            sockets.append(socket_or_file)
            ports.append(port)
    print("ports", *ports, flush=True)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    status = 0
    for number in range(starts):
        if number > 0:
            signal.sigwait({signal.SIGUSR1})
        child = os.fork()
        if child == 0:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
            # First out of the way of the numbers that they get.
            copies = [fcntl.fcntl(s.fileno(), fcntl.F_DUPFD, 64) for s in sockets]
            for index, copy in enumerate(copies):
                os.dup2(copy, 3 + index)
                os.close(copy)
            os.environ.update(
                LISTEN_PID=pid or str(os.getpid()), LISTEN_FDS=str(len(names)), LISTEN_FDNAMES=":".join(names)
            )
            os.execv(arguments[0], arguments)
        print("process", child, flush=True)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print("ended", number + 1, flush=True)
    sys.exit(status)


main(sys.argv[1:])
