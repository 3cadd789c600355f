"""An OAuth client and a resource server of Authlib's against a server: discovery, introspection, refresh, revocation.

`authlib_client.py ISSUER USERNAME PASSWORD SERVICE SECRET RESOURCE`; prints "done" at the end.
"""

import sys

import requests
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url

issuer, username, password, service, secret, resource_server = sys.argv[1:]

document = requests.get(get_well_known_url(issuer, external=True), timeout=60).json()
metadata = AuthorizationServerMetadata(document)
assert metadata["issuer"] == issuer, metadata
for key in metadata.REGISTRY_KEYS:
    # It is only about an authorization endpoint, and a list without elements is left out (RFC 8414, section 3.2).
    if key != "response_types_supported":
        getattr(metadata, f"validate_{key}")()

methods = metadata["introspection_endpoint_auth_methods_supported"]
assert {"client_secret_basic", "client_secret_post"} <= set(methods), methods
resources = [
    OAuth2Session(service, secret, revocation_endpoint_auth_method=method)
    for method in ("client_secret_basic", "client_secret_post")
]


def introspect(token):
    answers = [
        resource.introspect_token(metadata["introspection_endpoint"], token=token) for resource in resources
    ]
    for answer in answers:
        assert answer.status_code == 200, answer.text
    assert answers[0].json() == answers[1].json(), [answer.text for answer in answers]
    return answers[0].json()


wrong = OAuth2Session(service, "wrong", revocation_endpoint_auth_method="client_secret_basic")
answer = wrong.introspect_token(metadata["introspection_endpoint"], token="x")
assert answer.status_code == 401 and answer.json()["error"] == "invalid_client", answer.text

tokens = requests.post(
    f"{issuer}/v1/login/password",
    json={"username": username, "password": password, "resource": resource_server, "scope": "read"},
    timeout=60,
).json()
found = introspect(tokens["access_token"])
assert found["aud"] == resource_server and found["scope"] == "read", found
assert found["active"] and found["username"] == username and found["iss"] == issuer, found

client = OAuth2Session(
    "app", token=tokens, token_endpoint_auth_method="none", revocation_endpoint_auth_method="none"
)
renewed = client.refresh_token(metadata["token_endpoint"], refresh_token=tokens["refresh_token"])
assert renewed["access_token"] != tokens["access_token"], "not renewed"
assert introspect(renewed["access_token"]) == {"active": False}, "a token of the account's API"
renewed = client.refresh_token(
    metadata["token_endpoint"],
    refresh_token=renewed["refresh_token"],
    resource=resource_server,
)
found = introspect(renewed["access_token"])
assert found["active"] and found["scope"] == "read write", found
answer = client.revoke_token(metadata["revocation_endpoint"], token=renewed["refresh_token"])
assert answer.status_code == 200, answer.text
assert introspect(renewed["access_token"]) == {"active": False}
assert introspect(renewed["refresh_token"]) == {"active": False}
print("done")
