internal import AccountStore
internal import WebAuthnModel

/// JSON Schemas (2020-12) of the API's inputs and outputs.
enum Schemas {
    static let string: JSONValue = ["type": "string"]
    static let integer: JSONValue = ["type": "integer"]
    static let boolean: JSONValue = ["type": "boolean"]
    static let bytes: JSONValue = ["type": "string", "pattern": "^[A-Za-z0-9_-]*$"]
    /// A whole number as a string, which may exceed JSON's exact numbers.
    static let number: JSONValue = ["type": "string", "pattern": "^[0-9]{1,19}$"]
    /// Seconds since 1970.
    static let time: JSONValue = ["type": "integer", "minimum": 0]
    static let strings: JSONValue = array(string)

    static func ref(_ name: String) -> JSONValue { ["$ref": .string("#/components/schemas/\(name)")] }
    static func array(_ items: JSONValue) -> JSONValue { ["type": "array", "items": items] }
    static func text(_ bytes: ClosedRange<Int>) -> JSONValue {
        [
            "type": "string", "minLength": .integer(Int64(bytes.lowerBound)),
            "maxLength": .integer(Int64(bytes.upperBound)),
        ]
    }
    static func choice(_ values: [String]) -> JSONValue {
        ["type": "string", "enum": .array(values.map { .string($0) })]
    }

    /// An object with exactly these members; a name that ends in `?` is optional.
    static func object(_ properties: KeyValuePairs<String, JSONValue>) -> JSONValue {
        members(properties, isOpen: false)
    }

    /// An object with at least these members: clients may send more.
    static func input(_ properties: KeyValuePairs<String, JSONValue>) -> JSONValue {
        members(properties, isOpen: true)
    }

    private static func members(_ properties: KeyValuePairs<String, JSONValue>, isOpen: Bool) -> JSONValue {
        let names = properties.map { $0.key.hasSuffix("?") ? String($0.key.dropLast()) : $0.key }
        let required = properties.map(\.key).filter { !$0.hasSuffix("?") }
        return JSONValue(members: [
            "type": "object",
            "properties": .object(JSONObject(zip(names, properties).map { ($0, $1.value) })),
            "required": required.isEmpty ? nil : .array(required.map { .string($0) }),
            "additionalProperties": isOpen ? nil : false,
        ])
    }

    static let all: JSONValue = .object(JSONObject(named.map { ($0.key, $0.value) }))

    /// What a limited session is for.
    private static let task = choice(SessionTask.allCases.map(\.rawValue))
    /// What becomes of an account's credentials when it is recovered.
    static let formerCredentials = choice(FormerCredentials.allCases.map(\.rawValue))

    private static let descriptor = object([
        "type": choice(["public-key"]), "id": bytes, "transports": strings,
    ])

    private static let named: KeyValuePairs<String, JSONValue> = [
        "problem": object([
            "type": string, "title": string, "status": integer, "detail?": string, "instance": string,
            "code": choice(Problem.Code.allCases.map(\.rawValue)), "traceId": string, "retryAfter?": integer,
            "rule?": choice(PasswordRule.allCases.map(\.rawValue)), "limit?": integer,
            "acr_values?": string, "max_age?": integer,
            "errors?": array(object(["pointer": string, "detail": string])),
        ]),
        "oauthError": object([
            "error": choice(OAuthProblem.Code.allCases.map(\.rawValue)), "error_description?": string,
        ]),
        "tokens": object([
            "access_token?": string, "token_type?": choice(["Bearer", "DPoP"]), "expires_in": integer,
            "scope?": string, "refresh_token?": string, "refresh_bound": boolean, "sub": bytes,
            "session_id": bytes, "acr": string,
            "amr": strings, "auth_time": time, "offerDeviceLogin?": boolean, "task?": task,
            "credentials?": formerCredentials, "codesLeft?": integer, "keyAcceptedUntil?": time,
            "keyRenewFrom?": time,
        ]),
        "introspection": object([
            "active": boolean, "iss?": string, "sub?": bytes, "username?": string, "aud?": string,
            "scope?": string, "sid?": bytes,
            "token_type?": string, "acr?": string, "amr?": strings, "auth_time?": time, "exp?": time,
            "cnf?": object(["jkt": bytes]),
        ]),
        "me": object([
            "id": bytes, "username": string, "displayName": string, "sessionId": bytes, "acr": string,
            "amr": strings, "authTime": time, "hasPassword": boolean,
            "stepUp": array(choice(["passkey", "password"])), "credentials": integer, "sessions": integer,
            "task?": task,
        ]),
        "recoveryCodes": object(["left": integer, "createdAt?": time]),
        "newRecoveryCodes": object(["codes": strings, "createdAt": time]),
        "newAccount": object(["id": bytes, "username": string, "displayName": string]),
        "link": object([
            "id": bytes, "kind": choice(AccountLink.Kind.allCases.map(\.rawValue)),
            "credentials": formerCredentials, "createdAt": time, "expiresAt": time, "url?": string,
        ]),
        "links": object(["links": array(ref("link"))]),
        "ownAuditRecord": object([
            "sequence": integer, "time": integer, "event": string, "reason": string, "session?": bytes,
            "credential?": bytes, "byAdministrator": boolean, "address?": string, "details?": string,
        ]),
        "accountExport": object([
            "account": ref("user"), "credentials": array(ref("credential")),
            "deviceKeys": array(ref("deviceKey")),
            "sessions": array(ref("session")), "recoveryCodes": integer,
            "transactions": array(ref("transaction")), "hasOlderTransactions": boolean,
            "audit": array(ref("ownAuditRecord")), "next?": number,
        ]),
        "requestOptions": object([
            "challenge": bytes, "timeout": integer, "rpId": string, "allowCredentials": array(descriptor),
            "userVerification": choice(["required", "preferred", "discouraged"]),
        ]),
        "creationOptions": object([
            "rp": object(["id": string, "name": string]),
            "user": object(["id": bytes, "name": string, "displayName": string]),
            "challenge": bytes,
            "pubKeyCredParams": array(object(["type": choice(["public-key"]), "alg": integer])),
            "timeout": integer, "excludeCredentials": array(descriptor),
            "authenticatorSelection": object([
                "authenticatorAttachment?": string, "residentKey": string, "requireResidentKey": boolean,
                "userVerification": string,
            ]),
            "attestation": choice(["none", "indirect", "direct", "enterprise"]),
        ]),
        "loginCeremony": object(["ceremonyId": bytes, "publicKey": ref("requestOptions"), "expiresAt": time]),
        "registrationCeremony": object([
            "ceremonyId": bytes, "publicKey": ref("creationOptions"), "expiresAt": time,
        ]),
        "assertion": input([
            "id": bytes, "rawId": bytes, "type": choice(["public-key"]),
            "response": input([
                "clientDataJSON": bytes, "authenticatorData": bytes, "signature": bytes,
                "userHandle?": ["type": ["string", "null"]],
            ]),
            "clientExtensionResults?": ["type": ["object", "null"]],
        ]),
        "attestation": input([
            "id": bytes, "rawId": bytes, "type": choice(["public-key"]),
            "response": input(["clientDataJSON": bytes, "attestationObject": bytes, "transports?": strings]),
            "clientExtensionResults?": ["type": ["object", "null"]],
        ]),
        "credential": object([
            "id": bytes, "kind": choice(["device", "passkey"]), "label": string, "createdAt": time,
            "lastUsedAt?": time, "aaguid": string, "transports": strings, "backupEligible": boolean,
            "backupState": boolean, "signCount": integer,
            "assurance": choice(["none", "self", "basic", "tpm"]),
            "uvEvidence": choice(["flag", "tpm_policy"]), "suspended": boolean, "suspension?": string,
            "statement?": ["type": "object"], "consent?": ["type": "object"],
            "acceptedUntil?": time, "renewFrom?": time,
        ]),
        "deviceKeyCeremony": object([
            "ceremonyId": bytes, "publicKey": object(["challenge": bytes]), "expiresAt": time,
        ]),
        "deviceKey": object([
            "id": bytes, "purpose": string, "name": string, "publicKey": bytes, "createdAt": time,
        ]),
        "deviceKeys": object(["keys": array(ref("deviceKey"))]),
        "credentials": object(["credentials": array(ref("credential")), "rpId?": string, "userId?": bytes]),
        "session": object([
            "id": bytes, "current?": boolean, "acr": string, "amr": strings, "authTime": time,
            "createdAt": time, "lastUsedAt": time, "expiresAt": time, "bound": boolean,
            "credentialId?": bytes, "client?": string, "address": string, "task?": task,
        ]),
        "sessions": object(["sessions": array(ref("session"))]),
        "activation": object([
            "id": bytes, "credentialBlob": bytes, "encryptedSecret": bytes, "quoteNonce?": bytes,
            "expiresAt": time,
        ]),
        "x5c": object(["x5c": array(bytes)]),
        "transaction": object([
            "id": bytes, "type": string,
            "status": choice(["pending", "approved", "rejected", "expired", "failed"]),
            "details": ["type": "object"], "nonce": bytes, "createdAt": time, "expiresAt": time,
            "publicKey?": ref("requestOptions"), "approvedAt?": time,
            "receipt?": object([
                "transactionId": bytes, "credentialId": bytes, "approvedAt": time, "detailsHash": bytes,
            ]),
        ]),
        "transactions": object(["transactions": array(ref("transaction"))]),
        "evidence": object([
            "details": ["type": "object"], "nonce": bytes, "challenge": bytes, "credentialId": bytes,
            "publicKey": bytes, "clientDataJSON": bytes, "authenticatorData": bytes, "signature": bytes,
            "approvedAt": time,
        ]),
        "relatedOrigins": object(["origins": strings]),
        "keys": object([
            "keys": array(
                object([
                    "kty": string, "crv": string, "x": bytes, "y": bytes, "use": string, "alg": string,
                    "kid": bytes,
                ])
            )
        ]),
        "metadata": object([
            "issuer": string, "jwks_uri": string, "token_endpoint": string, "revocation_endpoint": string,
            "introspection_endpoint": string, "introspection_endpoint_auth_methods_supported": strings,
            "grant_types_supported": strings,
            "token_endpoint_auth_methods_supported": strings,
            "revocation_endpoint_auth_methods_supported": strings,
            "dpop_signing_alg_values_supported": strings, "acr_values_supported": strings,
            "scopes_supported?": strings,
        ]),
        "health": object(["status": string, "failures?": ["type": "object"]]),
        "user": object([
            "id": bytes, "username": string, "displayName": string, "mixedScripts?": strings,
            "createdAt": time,
            "lockedAt?": time,
            "hasPassword": boolean, "passwordChangedAt?": time, "mustChangePassword?": boolean,
        ]),
        "users": object(["users": array(ref("user")), "next?": string]),
        "adminToken": object([
            "id": bytes, "name": string, "role": choice(AdminRole.allCases.map(\.rawValue)),
            "createdAt": time,
            "expiresAt?": time, "token?": string,
        ]),
        "adminTokens": object(["tokens": array(ref("adminToken"))]),
        "auditRecord": object([
            "position": number, "chain": bytes, "sequence": integer, "time": integer, "event": string,
            "account?": bytes, "session?": bytes, "credential?": bytes, "address": string, "trace": string,
            "reason": string, "details?": string, "previousHash": bytes, "hash": bytes,
        ]),
        "audit": object(["records": array(ref("auditRecord")), "next": number]),
    ]
}
