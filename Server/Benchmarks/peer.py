"""A server in Python that does a login's work: uvicorn, py_webauthn, sqlite3, on the same tables as login_limit.c.

`peer.py PORT DATABASE`. One process, one connection to the database, a commit for each request.
"""

import json
import secrets
import sqlite3
import sys
import time

import uvicorn
from webauthn import verify_authentication_response
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url

port, path = int(sys.argv[1]), sys.argv[2]
database = sqlite3.connect(path, isolation_level=None, cached_statements=64)
database.execute("PRAGMA journal_mode = WAL")
database.execute("PRAGMA synchronous = FULL")
database.execute("PRAGMA wal_autocheckpoint = 4000")
origin = f"http://localhost:{port}"


def options(_):
    identifier, challenge = secrets.token_bytes(32), secrets.token_bytes(32)
    public_key = {
        "allowCredentials": [], "challenge": bytes_to_base64url(challenge), "rpId": "localhost",
        "timeout": 300000, "userVerification": "required",
    }
    expires = int(time.time() * 1000) + 300_000
    database.execute(
        "INSERT INTO ceremonies VALUES (?, 'login', NULL, NULL, ?, ?)",
        (identifier, json.dumps(public_key), expires),
    )
    return 200, {
        "ceremonyId": bytes_to_base64url(identifier), "publicKey": public_key, "expiresAt": expires // 1000,
    }


def login(body):
    credential = body["credential"]
    taken = database.execute(
        "DELETE FROM ceremonies WHERE id = ? RETURNING options, expires_at",
        (base64url_to_bytes(body["ceremonyId"]),),
    ).fetchone()
    now = int(time.time() * 1000)
    if taken is None or taken[1] < now:
        return 410, {}
    identifier = base64url_to_bytes(credential["rawId"])
    account, key, counter = database.execute(
        "SELECT account, public_key, sign_count FROM credentials WHERE id = ?", (identifier,)
    ).fetchone()
    verified = verify_authentication_response(
        credential=credential, expected_challenge=base64url_to_bytes(json.loads(taken[0])["challenge"]),
        expected_rp_id="localhost", expected_origin=origin, credential_public_key=key,
        credential_current_sign_count=counter, require_user_verification=True,
    )
    token, session = secrets.token_bytes(32), secrets.token_bytes(16)
    database.execute("BEGIN IMMEDIATE")
    database.execute(
        "UPDATE credentials SET sign_count = ?, last_used_at = ? WHERE id = ?",
        (verified.new_sign_count, now, identifier),
    )
    database.execute(
        "INSERT INTO sessions VALUES (?, ?, ?, 'phr', 'pop swk user', ?, ?, ?, ?, 2592000000, NULL, '', '', 0)",
        (account, session, identifier, now, now, now, now + 7776000000),
    )
    database.execute("COMMIT")
    return 200, {
        "access_token": bytes_to_base64url(token), "session_id": bytes_to_base64url(session),
        "token_type": "Bearer", "expires_in": 300,
    }


async def application(scope, receive, send):
    if scope["type"] != "http":
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    work = {"/v1/login/options": options, "/v1/login": login}[scope["path"]]
    status, answer = work(json.loads(body))
    text = json.dumps(answer, separators=(",", ":")).encode()
    await send({
        "type": "http.response.start", "status": status,
        "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())],
    })
    await send({"type": "http.response.body", "body": text})


uvicorn.run(application, host="127.0.0.1", port=port, log_level="error", access_log=False)
