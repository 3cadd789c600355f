"""Sends a server requests that its OpenAPI documents allow and forbid: no response is a 5xx (run by Scripts/test-server).

`schemathesis.py PROGRAM [SECONDS]`: starts the program with a store of its own; schemathesis makes the requests, for SECONDS in
each of five runs: the API without a token, with a user's token, with a page's cookies, which may change credentials, with a
service's secret, and the administrators' API.
"""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

program, seconds = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "8"
password = "horse battery staple 7"
# That of the setting public-url, which has its default here.
origin = "http://localhost:8080"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def call(url, body, token=None):
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


def cookies(url, body):
    """The header fields of a page that signed in."""
    headers = {"Content-Type": "application/json", "Origin": origin}
    request = urllib.request.Request(url, json.dumps({**body, "session": "cookie"}).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        pairs = [text.split(";")[0] for text in answer.headers.get_all("Set-Cookie")]
    return [f"Cookie: {'; '.join(pairs)}", f"Origin: {origin}"]


def wait(condition, what):
    for _ in range(600):
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise SystemExit(f"not in a minute: {what}")


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


with tempfile.TemporaryDirectory() as directory:
    output = pathlib.Path(directory, "output")
    secret = pathlib.Path(directory, "service.secret")
    secret.write_text("a service's secret of 32 characters or more\n")
    secret.chmod(0o600)
    audiences = pathlib.Path(directory, "audiences")
    audiences.mkdir()
    audiences.joinpath("service").write_text("resource = https://api.example.org\nscopes = read write\n")
    audiences.joinpath("signed").write_text("resource = https://signed.example.org\nservices = service\nformat = jwt\n")
    port, admin_port = free_port(), free_port()
    api, admin = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{admin_port}"
    environment = {
        **os.environ, "TOUCHSTONE_SERVER_DATA_DIRECTORY": directory, "TOUCHSTONE_SERVER_LISTEN": f"127.0.0.1:{port}",
        "TOUCHSTONE_SERVER_ADMIN_LISTEN": f"127.0.0.1:{admin_port}", "TOUCHSTONE_SERVER_PASSWORD_COST": "10,8,1",
        "TOUCHSTONE_SERVER_PASSWORDS_PER_MINUTE": "1000000", "TOUCHSTONE_SERVER_CEREMONIES_PER_MINUTE": "1000000",
        "TOUCHSTONE_SERVER_SERVICE_SECRET_FILE": str(secret), "TOUCHSTONE_SERVER_ENDORSEMENT": "any",
        "TOUCHSTONE_SERVER_AUDIENCE_DIRECTORY": str(audiences), "TOUCHSTONE_SERVER_SELF_REGISTRATION": "on",
    }
    with open(output, "wb") as log:
        server = subprocess.Popen([program], env=environment, stdout=log, stderr=log)
    failed = []
    try:
        offer = wait(lambda: re.search(r"ts_bt_\S+", output.read_text()), "the first administrator's token")
        wait(lambda: listens(port) and listens(admin_port), "ports")
        admin_token = call(f"{admin}/admin/v1/bootstrap", {"token": offer[0]})["token"]
        call(f"{admin}/admin/v1/users", {"username": "anna", "password": password}, admin_token)
        login = {"username": "anna", "password": password}
        session = call(f"{api}/v1/login/password", login)["access_token"]

        def bearer(token):
            return [f"Authorization: Bearer {token}"]

        # Calls that end the session, the account or the administrator would turn all later ones into a 401.
        kept = ["/v1/logout", "/v1/account", "/v1/sessions", "/v1/sessions/{id}", "/admin/v1/tokens/{digest}"]
        for name, url, document, fields in [
            ("open", api, "/v1/openapi.json", []), ("session", api, "/v1/openapi.json", bearer(session)),
            ("page", api, "/v1/openapi.json", cookies(f"{api}/v1/login/password", login)),
            ("service", api, "/v1/openapi.json", bearer(secret.read_text().strip())),
            ("administrator", admin, "/admin/v1/openapi.json", bearer(admin_token)),
        ]:
            command = [
                sys.executable, "-m", "schemathesis.cli", "run", url + document, "--url", url, "--checks", "not_a_server_error",
                "--max-time", seconds, "--mode", "all", "--no-color", "--request-timeout", "60", "--warnings", "off",
                "--generation-database", "none", "--continue-on-failure",
            ]
            for field in fields:
                command += ["-H", field]
            if fields:
                for path in kept:
                    command += ["--exclude-path", path]
            result = subprocess.run(command, capture_output=True, text=True, cwd=directory)
            summary = [line.strip() for line in result.stdout.splitlines() if re.search(r"generated|Test cases|❌|No issues", line)]
            print(f"{name}: status {result.returncode}; {' '.join(summary)}", flush=True)
            if result.returncode:
                failed.append(name)
                print(result.stdout[-8000:], result.stderr[-2000:])
        if server.poll() is not None:
            failed.append(f"the server ended with {server.returncode}")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
    if failed:
        print(output.read_text()[-4000:])
        raise SystemExit(f"failed: {', '.join(failed)}")
