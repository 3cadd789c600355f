"""Runs the server's benchmark: see Scripts/benchmark-server, which builds what it needs.

Everything that is compared runs one after the other in rounds, on the same two cores: what is measured on the first, the load on
the second. Figures are of the best round of each; CPU is user and system time of the measured process a login, which holds
on a busy machine too. BENCHMARK_PRIORITY=1 runs both in the real-time class, for a machine that others use (needs root);
BENCHMARK_SECONDS is the length of a run, BENCHMARK_DISK a directory on the disk, BENCHMARK_POSTGRESQL the address of a database to
use instead of one of its own.
"""

import concurrent.futures
import http.client
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

smoke = "--smoke" in sys.argv
only = [word for word in sys.argv[1:] if not word.startswith("--")]
tools, programs = os.environ["TOOLS"], os.environ["PROGRAMS"]
peer = os.environ.get("PEER")
seconds, rounds = (1, 1) if smoke else (int(os.environ.get("BENCHMARK_SECONDS", 5)), 3)
accounts, many = (1000, 5000) if smoke else (10_000, 1_000_000)
few = 1000
# The share of a processor that each of two processes gets: together with the database and the load they do not use all of two.
held_to = 0.35
priority = ["chrt", "-r", "1"] if os.environ.get("BENCHMARK_PRIORITY") else []
faults = []
counter = 0
memory = pathlib.Path(tempfile.mkdtemp(dir="/dev/shm", prefix="touchstone-"))
disk = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("BENCHMARK_DISK", "/var/tmp"), prefix="touchstone-"))
ticks = os.sysconf("SC_CLK_TCK")


def say(*words):
    print(*words, flush=True)


def bound(what, value, limit, at_least=True):
    holds = value >= limit if at_least else value <= limit
    word = "at least" if at_least else "at most"
    say(f"   {'ok  ' if holds else 'MISS'} {what}: {value:.3g} ({word} {limit:g})")
    if not holds:
        faults.append(what)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def settings(port, admin, directory, database=None, **more):
    values = {
        "LISTEN": f"127.0.0.1:{port}", "ADMIN_LISTEN": f"127.0.0.1:{admin}",
        "PUBLIC_URL": f"http://localhost:{port}", "DATA_DIRECTORY": str(directory),
        "CEREMONIES_PER_MINUTE": "1000000", "PASSWORDS_PER_MINUTE": "1000000", "LOG_LEVEL": "error", **more,
    }
    if database:
        values["DATABASE"] = database
    return {**os.environ, **{f"TOUCHSTONE_SERVER_{key}": value for key, value in values.items()}}


class Server:
    """A process that is measured."""

    def __init__(self, kind, directory, cores="0", database=None, before=(), priority=priority, **more):
        self.kind, self.port, self.admin = kind, free_port(), free_port()
        path = str(directory / "accounts.sqlite")
        commands = {
            "touchstone": [f"{programs}/touchstone-server"],
            "C": [f"{tools}/login_limit", str(self.port), path],
            "Python": [peer or "", str(pathlib.Path(__file__).parent / "peer.py"), str(self.port), path],
        }
        command = ["taskset", "-c", cores, *priority, *before, *commands[kind]]
        self.log = open(disk / f"{kind}.log", "a")
        self.process = subprocess.Popen(
            command, env=settings(self.port, self.admin, directory, database, **more), stdout=self.log, stderr=self.log
        )
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise SystemExit(f"{kind} does not listen: see {self.log.name}")

    def cpu(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / ticks

    def resident(self):
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1]) / 1024

    def load(self, mode="login", connections=16, people=None, length=None, share=(0, 1)):
        """Loads it from the other core; the figures, with `cpu` in microseconds each."""
        global counter
        before = self.cpu()
        command = [
            "taskset", "-c", "1", *priority, f"{tools}/login_load", str(self.port), mode, str(connections),
            str(length or seconds), str(people or accounts), str(counter), *map(str, share),
        ]
        result = subprocess.run(command, capture_output=True, text=True)
        if not result.stdout:
            raise SystemExit(f"{self.kind} {mode}: {result.stderr}")
        figures = {name: float(value) for name, value in re.findall(r"(\w+)=([\d.]+)", result.stdout)}
        counter = max(counter, int(figures["counter"]) + 1)
        figures["cpu"] = (self.cpu() - before) * 1e6 / max(figures["count"], 1) * (length or seconds) / ((length or seconds) + 0.5)
        if figures["refused"]:
            faults.append(f"{self.kind} refused {int(figures['refused'])} of {mode}: {result.stderr.strip()}")
        return figures

    def metric(self, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/metrics") as answer:
            return float(re.search(rf"^{name} (\S+)", answer.read().decode(), re.M)[1])

    def stop(self):
        self.process.send_signal(signal.SIGTERM if self.kind == "touchstone" else signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def store(directory, name, people):
    """A store of its own with people in it."""
    place = directory / name
    if place.exists():
        shutil.rmtree(place)
    place.mkdir()
    subprocess.run([f"{programs}/touchstone-server", "migrate"], env=settings(1, 1, place), check=True, stdout=subprocess.DEVNULL)
    subprocess.run([f"{tools}/fill", "sqlite", str(place / "accounts.sqlite"), str(people)], check=True)
    return place


def line(kind, figures):
    return (
        f"   {kind:<22}{figures['rate']:>8.0f} a second  p50 {figures['p50']:.2f} ms  p99 {figures['p99']:.2f} ms  "
        f"CPU {figures['cpu']:.0f} µs each"
    )


def best(runs):
    return max(runs, key=lambda run: run["rate"])


def logins(directory, name):
    """Complete logins beside the limit, in rounds; then refreshes."""
    kinds = ["C", "touchstone"] + (["Python"] if peer else [])
    servers = {kind: Server(kind, store(directory, f"{name}-{kind}", accounts)) for kind in kinds}
    try:
        runs = {kind: [] for kind in kinds}
        touchstone = servers["touchstone"]
        commits = touchstone.metric("touchstone_store_commits_total")
        for _ in range(rounds):
            for kind in kinds:
                runs[kind].append(servers[kind].load())
        commits = touchstone.metric("touchstone_store_commits_total") - commits
        total = sum(run["count"] for run in runs["touchstone"]) * (seconds + 0.5) / seconds
        ours, limit = best(runs["touchstone"]), best(runs["C"])
        ratios = [run["rate"] / base["rate"] for run, base in zip(runs["touchstone"], runs["C"])]
        say(f"   ratio to the limit in C: {ours['rate'] / limit['rate']:.2f} (rounds: {', '.join(f'{r:.2f}' for r in ratios)})"
            f", by CPU {limit['cpu'] / ours['cpu']:.2f}")
        for kind in kinds:
            say(line(kind, best(runs[kind])))
        say(f"   {commits / total:.3f} commits a login")
        runs = [touchstone.load("refresh") for _ in range(rounds)]
        say(line("touchstone, refresh", best(runs)))
        return ours, limit, best(runs), commits / total
    finally:
        for server in servers.values():
            server.stop()


def section(name, title):
    chosen = not only or name in only
    if chosen:
        say(f"## {title}")
    return chosen


def in_process():
    result = subprocess.run(["taskset", "-c", "0", *priority, f"{programs}/webauthn-bench"], capture_output=True, text=True)
    say("   " + result.stdout.strip().replace("\n", "\n   "))
    if result.returncode and not smoke:
        faults.append("assertions in process")


def in_memory():
    ours, limit, refresh, _ = logins(memory, "logins")
    bound("logins a second", ours["rate"], 6000)
    bound("p99 of a login, ms", ours["p99"], 6, at_least=False)
    bound("of the limit in C", ours["rate"] / limit["rate"], 0.55)
    bound("refreshes to logins", refresh["rate"] / ours["rate"], 1)


def on_disk():
    ours, limit, refresh, commits = logins(disk, "logins")
    bound("of the limit in C", ours["rate"] / limit["rate"], 0.5)
    bound("p99 of a login, ms", ours["p99"], 10, at_least=False)
    bound("refreshes to logins", refresh["rate"] / ours["rate"], 1)
    # What reaches the disk, as the kernel counts it.
    report = disk / "strace"
    counting = ["strace", "-D", "-f", "--seccomp-bpf", "-c", "-e", "trace=fsync,fdatasync", "-o", str(report)]
    with Server("touchstone", disk / "logins-touchstone", before=counting) as server:
        figures = server.load()
    for _ in range(100):
        if report.exists() and "total" in report.read_text():
            break
        time.sleep(0.1)
    lines = [line.split() for line in report.read_text().splitlines()]
    calls = sum(int(words[3]) for words in lines if words and words[-1] in ("fsync", "fdatasync"))
    total = figures["count"] * (seconds + 0.5) / seconds
    say(f"   {calls} flushes in {total:.0f} logins, {calls / total:.2f} each, counted by strace, which slows it to {figures['rate']:.0f} a second")
    bound("flushes a login, a commit each", commits, 0.3, at_least=False)


def postgresql():
    address = os.environ.get("BENCHMARK_POSTGRESQL")
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin")) if not address else []
    if not address and not found:
        say("   left out: PostgreSQL's server is not installed")
        return
    cluster = None
    if not address:
        place = memory / "postgresql"
        place.mkdir()
        as_user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.getuid() == 0 else []
        if as_user:
            shutil.chown(place, "nobody", "nogroup")
            memory.chmod(0o755)
        subprocess.run([*as_user, str(found[-1] / "initdb"), "-D", str(place / "data"), "-U", "bench", "-A", "trust", "-N"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
        cluster = subprocess.Popen(
            [*priority, *as_user, str(found[-1] / "postgres"), "-D", str(place / "data"), "-k", str(place), "-c", "listen_addresses=",
             "-c", "max_connections=64"], stderr=subprocess.DEVNULL, cwd="/")
        address = f"postgresql://bench@/postgres?host={place}"
        for _ in range(100):
            if subprocess.run(["psql", "-qc", "select 1", address], capture_output=True).returncode == 0:
                break
            time.sleep(0.2)
    try:
        place = memory / "postgresql-data"
        place.mkdir()
        subprocess.run([f"{programs}/touchstone-server", "migrate"], env=settings(1, 1, place, address), check=True, stdout=subprocess.DEVNULL)
        for table in ["accounts", "credentials"]:
            rows = subprocess.Popen([f"{tools}/fill", "copy", table, str(accounts)], stdout=subprocess.PIPE)
            subprocess.run(["psql", "-q", "-c", f"COPY {table} FROM STDIN", address], stdin=rows.stdout, check=True)
        subprocess.run(["psql", "-q", "-c", "ANALYZE", address], check=True)
        # The database works on both cores, so what is compared does too.
        with Server("touchstone", store(memory, "beside", accounts), cores="0,1", TRUSTED_PROXIES="127.0.0.1") as sqlite, \
                Server("touchstone", place, cores="0,1", database=address, TRUSTED_PROXIES="127.0.0.1") as one, \
                Server("touchstone", place, cores="0,1", database=address, TRUSTED_PROXIES="127.0.0.1") as two:
            runs = {"sqlite": [], "one": [], "two": []}
            for _ in range(rounds):
                runs["sqlite"].append(sqlite.load())
                runs["one"].append(one.load())
                runs["two"].append(together([one, two]))
            for name, title in [("sqlite", "SQLite, both cores"), ("one", "PostgreSQL, one"), ("two", "PostgreSQL, two")]:
                say(line(title, best(runs[name])))
            bound("PostgreSQL to SQLite", best(runs["one"])["rate"] / best(runs["sqlite"])["rate"], 0.5)
        grown(address, place)
    finally:
        if cluster:
            cluster.send_signal(signal.SIGINT)
            cluster.wait()


def grown(address, place):
    """A second process, while the machine has processor time left: on two cores one process takes all of it."""
    groups = [control_group(f"touchstone-bench-{os.getpid()}-{index}", held_to) for index in range(2)]
    try:
        if None in groups:
            say("   left out: a second process, because this user cannot make control groups")
            return
        entries = [["sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh"] for group in groups]
        more = {"cores": "0,1", "database": address, "TRUSTED_PROXIES": "127.0.0.1"}
        with Server("touchstone", place, before=entries[0], **more) as one, Server("touchstone", place, before=entries[1], **more) as two:
            runs = {"one": [], "two": []}
            for _ in range(rounds):
                runs["one"].append(one.load())
                runs["two"].append(together([one, two]))
            held = f"each held to {held_to:.0%} of a core"
            for name in runs:
                say(line(f"{name}, {held}", best(runs[name])))
            bound(f"two processes to one, {held}", best(runs["two"])["rate"] / best(runs["one"])["rate"], 1.3)
    finally:
        for group in filter(None, groups):
            group.rmdir()


def control_group(name, share):
    """A new control group, of version 2 or 1, whose processes get that share of a processor; None without the right to make one."""
    for root in ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu"]:
        group = pathlib.Path(root) / name
        try:
            group.mkdir()
        except OSError:
            continue
        period = 20_000
        for limits in [{"cpu.max": f"{share * period:.0f} {period}"},
                       {"cpu.cfs_period_us": str(period), "cpu.cfs_quota_us": f"{share * period:.0f}"}]:
            try:
                for file, value in limits.items():
                    with open(group / file, "r+") as limit:
                        limit.write(value)
                return group
            except OSError:
                continue
        group.rmdir()
    return None


def together(servers):
    """All at a time, half of the connections and of the people to each."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        shares = [(index, len(servers)) for index in range(len(servers))]
        tasks = [pool.submit(server.load, connections=16 // len(servers), share=share) for server, share in zip(servers, shares)]
        results = [task.result() for task in tasks]
    return {
        "rate": sum(result["rate"] for result in results), "p50": max(result["p50"] for result in results),
        "p99": max(result["p99"] for result in results), "cpu": sum(result["cpu"] for result in results) / len(results),
    }


def saturated():
    # In the real-time class threads would not step back for one another.
    with Server("touchstone", store(memory, "passwords", accounts), priority=[]) as server:
        quiet = server.load("login", 4)
        noise = subprocess.Popen(
            ["taskset", "-c", "1", f"{tools}/login_load", str(server.port), "password", "32", str(seconds + 4), "1"],
            stdout=subprocess.PIPE, text=True)
        time.sleep(2)
        busy, probe = server.load("login", 4), server.load("probe", 4)
        text = noise.communicate()[0]
        figures = {name: float(value) for name, value in re.findall(r"(\w+)=([\d.]+)", text)}
        say(f"   passwords: {figures['rate']:.1f} a second, {figures['busy']:.0f} told to come back (503)")
        say(line("logins, quiet", quiet))
        say(line("logins, saturated", busy))
        say(line("look-ups, saturated", probe))
        bound("p99 of a request meanwhile, ms", max(busy["request_p99"], probe["request_p99"]), 50, at_least=False)
        bound("answers of 503", figures["busy"], 1)


def refusals():
    """What is no request is refused soon: nobody keeps the server busy with it."""
    kinds = [
        ("64 KiB in one string", b'{"username":"' + b"x" * 65_000 + b'","password":"y"}', 400),
        ("64 KiB of blanks", b" " * 65_000 + b"{}x", 400),
        ("more than 64 KiB", b" " * 70_000, 413),
        ("30,000 arrays in one another", b"[" * 30_000 + b"]" * 30_000, 400),
        ("nine deep", b'{"a":' + b"[" * 8 + b"]" * 8 + b"}", 400),
        ("a name twice", b'{"username":"a","username":"b"}', 400),
        ("6,000 names, the last twice", b"{" + b",".join(b'"m%d":1' % n for n in [*range(6000), 5999]) + b"}", 400),
        ("10,000 escapes", b'{"username":"' + b"\\u0041" * 10_000 + b'"}', 400),
        ("a number of 60,000 digits", b'{"username":1' + b"0" * 60_000 + b"}", 400),
        ("wrong types", b'{"username":[],"password":{}}', 400),
    ]
    slowest = 0
    with Server("touchstone", store(memory, "refusals", few)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        before = server.resident()
        os.sched_setaffinity(0, {1})
        if priority:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        for name, body, status in kinds:
            times = []
            for _ in range(20 if smoke else 300):
                start = time.perf_counter()
                connection.request("POST", "/v1/login/password", body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                answer.read()
                times.append((time.perf_counter() - start) * 1000)
                if answer.status != status:
                    faults.append(f"{name}: {answer.status}")
                    break
            times.sort()
            p99 = times[int((len(times) - 1) * 0.99)]
            slowest = max(slowest, p99)
            say(f"   {name:<32}{status}  p50 {times[len(times) // 2]:.2f} ms  p99 {p99:.2f} ms")
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, {0, 1})
        say(f"   resident: {before:.0f} MB, then {server.resident():.0f} MB")
        bound("p99 of the slowest refusal, ms", slowest, 10, at_least=False)


def large():
    with Server("touchstone", store(disk, "few", few)) as small, Server("touchstone", store(disk, "many", many)) as big:
        runs = {"few": [], "many": []}
        for _ in range(rounds + 1):
            runs["few"].append(small.load(people=few))
            runs["many"].append(big.load(people=many))
        # The first runs fill caches.
        ours, base = best(runs["many"][1:] or runs["many"]), best(runs["few"][1:] or runs["few"])
        say(line(f"{few} accounts", base))
        say(line(f"{many} accounts", ours))
        say(f"   resident: {small.resident():.0f} MB and {big.resident():.0f} MB")
        bound("latency to that with few", ours["p50"] / base["p50"], 1.3, at_least=False)
        bound("resident, MB", big.resident(), 150, at_least=False)


def stores():
    for title, directory in [("tmpfs", memory), ("disk", disk)]:
        place = store(directory, "store-limit", accounts)
        length = str(seconds)
        limit = subprocess.run(["taskset", "-c", "0", *priority, f"{tools}/store_limit", str(place / "accounts.sqlite"), "16", length, str(accounts)],
                               capture_output=True, text=True, check=True).stdout
        ours = subprocess.run(["taskset", "-c", "0", *priority, f"{programs}/store-bench", "sqlite", str(directory / "store-bench.sqlite"), "full", "16", length, "2000"],
                              capture_output=True, text=True, check=True).stdout
        say(f"   {title}: C {limit.strip()}")
        for text in ours.strip().splitlines():
            say(f"   {title}: store-bench {text}")
        rates = [float(re.search(r"login: (\d+)", text)[1]) for text in (ours, limit)]
        say(f"   {title}: ratio {rates[0] / rates[1]:.2f}")


try:
    for name, title, run in [
        ("process", "Assertions in process, beside the bare signature", in_process),
        ("memory", f"Complete logins, 16 connections, one core, {accounts} accounts, tmpfs", in_memory),
        ("disk", f"The same on a disk ({disk.parent}), synchronous=FULL", on_disk),
        ("postgresql", "PostgreSQL (tmpfs) beside SQLite", postgresql),
        ("passwords", "Passwords saturate the server", saturated),
        ("refusals", "Bad input, one request at a time", refusals),
        ("large", f"{many} accounts with two credentials each, beside {few} (disk)", large),
        ("stores", "The store without HTTP and signatures, beside its statements in C", stores),
    ]:
        if section(name, title):
            run()
finally:
    shutil.rmtree(memory, ignore_errors=True)
    shutil.rmtree(disk, ignore_errors=True)
if faults:
    say("missed: " + "; ".join(faults))
sys.exit(1 if faults and not smoke else 0)
