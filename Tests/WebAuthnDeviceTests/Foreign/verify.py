"""Verifies a device's registration and login with py_webauthn or python-fido2.

    verify.py py_webauthn|fido2 CASE.json

Exits with 0 and one line of output if both are accepted, otherwise with 1 and the reason. CASE.json has the responses in the
JSON forms of WebAuthn Level 3, the challenges in base64url, the RP ID, the origin, the expected format, and the root of a
TPM's attestation key in PEM.
"""

import hashlib
import json
import sys
from base64 import urlsafe_b64decode


def octets(text):
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def py_webauthn(case):
    from webauthn import verify_authentication_response, verify_registration_response
    from webauthn.helpers.structs import AttestationFormat
    from webauthn.helpers.tpm import structs

    # The list of manufacturers has no simulators; the name is not what is tested here.
    structs.TPM_MANUFACTURERS[case["manufacturer"]] = structs.TPMManufacturerInfo(name="swtpm", id="swtpm")
    made = verify_registration_response(
        credential=case["registration"],
        expected_challenge=octets(case["registrationChallenge"]),
        expected_rp_id=case["rpId"],
        expected_origin=case["origin"],
        require_user_verification=True,
        pem_root_certs_bytes_by_fmt={AttestationFormat.TPM: [case["root"].encode()]},
    )
    assert made.fmt == case["format"], made.fmt
    assert made.user_verified
    login = verify_authentication_response(
        credential=case["login"],
        expected_challenge=octets(case["loginChallenge"]),
        expected_rp_id=case["rpId"],
        expected_origin=case["origin"],
        credential_public_key=made.credential_public_key,
        credential_current_sign_count=made.sign_count,
        require_user_verification=True,
    )
    assert login.user_verified
    assert login.new_sign_count == made.sign_count + 1, login.new_sign_count


def fido2(case):
    from fido2.attestation import Attestation
    from fido2.server import Fido2Server
    from fido2.webauthn import (
        AttestationObject,
        PublicKeyCredentialRpEntity,
        PublicKeyCredentialUserEntity,
        UserVerificationRequirement,
    )

    server = Fido2Server(
        PublicKeyCredentialRpEntity(id=case["rpId"], name="test"),
        attestation="direct",
        verify_origin=lambda origin: origin == case["origin"],
    )
    _, state = server.register_begin(
        PublicKeyCredentialUserEntity(id=b"user", name="anna"),
        user_verification=UserVerificationRequirement.REQUIRED,
        challenge=octets(case["registrationChallenge"]),
    )
    data = server.register_complete(state, case["registration"])
    response = case["registration"]["response"]
    made = AttestationObject(octets(response["attestationObject"]))
    assert made.fmt == case["format"], made.fmt
    digest = hashlib.sha256(octets(response["clientDataJSON"])).digest()
    result = Attestation.for_type(made.fmt)().verify(made.att_stmt, made.auth_data, digest)
    assert bool(result.trust_path) == (case["format"] == "tpm")
    assert made.auth_data.is_user_verified()
    _, state = server.authenticate_begin(
        [data.credential_data],
        user_verification=UserVerificationRequirement.REQUIRED,
        challenge=octets(case["loginChallenge"]),
    )
    server.authenticate_complete(state, [data.credential_data], case["login"])


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        case = json.load(file)
    try:
        {"py_webauthn": py_webauthn, "fido2": fido2}[sys.argv[1]](case)
    except Exception as error:  # whatever a verifier throws
        print(f"refused: {type(error).__name__}: {error}")
        sys.exit(1)
    print("accepted")


main()
