internal import AccountStore
internal import WebAuthnModel

/// The documentation of one operation beyond the data of the operation itself.
struct OperationDescription: Sendable {
    let summary: String
    /// The content type and the schema.
    var body: (type: String, schema: JSONValue)?
    var query: [(name: String, isRequired: Bool, schema: JSONValue)] = []
    var replies: [Reply] = []
    /// Errors in addition to those of every operation of its kind.
    var errors: [Problem.Code] = []

    struct Reply: Sendable {
        let status: Int
        let text: String
        var type = "application/json"
        var schema: JSONValue?
    }

    init(_ summary: String) { self.summary = summary }

    private func json(_ schema: JSONValue) -> Self {
        var copy = self
        copy.body = ("application/json", schema)
        return copy
    }

    private func form(_ schema: JSONValue) -> Self {
        var copy = self
        copy.body = ("application/x-www-form-urlencoded", schema)
        return copy
    }

    private func replies(_ status: Int, _ name: String? = nil, _ text: String = "Done.") -> Self {
        var copy = self
        copy.replies.append(Reply(status: status, text: text, schema: name.map { Schemas.ref($0) }))
        return copy
    }

    private func query(_ name: String, _ schema: JSONValue, isRequired: Bool = false) -> Self {
        var copy = self
        copy.query.append((name, isRequired, schema))
        return copy
    }

    private func errors(_ codes: Problem.Code...) -> Self {
        var copy = self
        copy.errors += codes
        return copy
    }

    private func page() -> Self {
        query("after", Schemas.number)
            .query("count", ["type": "integer", "minimum": 1, "maximum": 1000])
    }

    private static let label = Schemas.text(1...128)
    private static let name = Schemas.text(1...1024)
    private static let purpose = Schemas.choice(LoginPurpose.allCases.map(\.rawValue))
    private static let session = Schemas.choice(SessionForm.allCases.map(\.rawValue))
    /// A resource server that the access token is for (RFC 8707); none: the account's API.
    private static let resource = Schemas.text(1...256)
    private static let scope = Schemas.text(1...1024)
    /// What protects the keys of a device, as the client says: a word of `Touchstone`'s `HardwareLevel`.
    private static let hardware = Schemas.text(1...32)
    private static let password: JSONValue = ["type": "string", "maxLength": 512]

    static let all: [String: OperationDescription] = api.merging(admin) { first, _ in first }

    private static let api: [String: OperationDescription] = [
        "loginWithPassword": Self("Signs in by password.")
            .json(
                Schemas.input([
                    "username": name, "password": password, "client?": label, "purpose?": purpose,
                    "session?": session, "resource?": resource, "scope?": scope, "hardware?": hardware,
                ])
            )
            .replies(200, "tokens")
            .errors(
                .authenticationFailed,
                .invalidTarget,
                .invalidScope,
                .insufficientAssurance,
                .insufficientUserAuthentication,
                .accountLockedByAdmin,
                .passwordChangeRequired,
                .tooManyAttempts
            ),
        "redeemLink": Self(
            "Gets into an account by an administrator's link, once; the session can register a credential or set a password, and "
                + "ends with that or after 15 minutes."
        )
        .json(Schemas.input(["token": Schemas.text(1...256), "client?": label, "session?": session]))
        .replies(200, "tokens").errors(.linkInvalid, .accountLockedByAdmin, .tooManyAttempts, .forbidden),
        "recover": Self(
            "The same by a recovery code, once; credentials says whether what signed in before stays or ends at once."
        )
        .json(
            Schemas.input([
                "username": name, "code": Schemas.text(1...256), "credentials": Schemas.formerCredentials,
                "client?": label, "session?": session,
            ])
        )
        .replies(200, "tokens").errors(.authenticationFailed, .tooManyAttempts, .forbidden),
        "recoveryCodes": Self("How many recovery codes are left.").replies(200, "recoveryCodes"),
        "makeRecoveryCodes": Self("Makes recovery codes, which are shown only now; the former ones end.")
            .replies(201, "newRecoveryCodes"),
        "registerAccount": Self(
            "Makes an account for oneself, with self-registration on; at most 10 names an hour from an address."
        )
        .json(Schemas.input(["username": name, "displayName?": label, "password": password]))
        .replies(201, "newAccount")
        .errors(.forbidden, .usernameTaken, .weakPassword, .tooManyAttempts),
        "exportAccount": Self("All that is kept of the account, without secrets; more of the audit by after.")
            .query("after", Schemas.number).replies(200, "accountExport"),
        "deleteOwnAccount": Self("Deletes the account, whose name must be given; its audit stays.")
            .json(Schemas.input(["username": name])).replies(204),
        "loginOptions": Self(
            "Begins a login, or an authentication again. Options for a name list its credentials, unless passkey-hints is off."
        )
        .json(Schemas.input(["username?": name, "purpose?": purpose]))
        .replies(200, "loginCeremony").errors(.tooManyAttempts, .notFound),
        "login": Self("Ends a login, or an authentication again.")
            .json(
                Schemas.input([
                    "ceremonyId": Schemas.bytes, "credential": Schemas.ref("assertion"), "client?": label,
                    "session?": session, "resource?": resource, "scope?": scope,
                ])
            )
            .replies(200, "tokens")
            .errors(
                .authenticationFailed,
                .invalidTarget,
                .invalidScope,
                .accountLockedByAdmin,
                .credentialSuspended,
                .credentialExpired,
                .ceremonyExpired,
                .insufficientAssurance,
                .forbidden
            ),
        "token": Self("Renews tokens (RFC 6749, section 6); without refresh_token those in the cookies.")
            .form(
                Schemas.input([
                    "grant_type": Schemas.choice(["refresh_token"]), "refresh_token?": Schemas.string,
                    "client_id?": Schemas.string, "resource?": resource, "scope?": scope,
                ])
            )
            .replies(200, "tokens"),
        "revoke": Self("Revokes a token (RFC 7009).")
            .form(Schemas.input(["token": Schemas.string, "token_type_hint?": Schemas.string]))
            .reply(200, ["type": "object"]),
        "introspect": Self("Tells what a token is good for (RFC 7662).")
            .form(
                Schemas.input([
                    "token": Schemas.string, "token_type_hint?": Schemas.string, "client_id?": Schemas.string,
                    "client_secret?": Schemas.string,
                ])
            )
            .replies(200, "introspection"),
        "check": Self("The same for proxies, with the service's secret in Service-Authorization.")
            .query("scope", scope).query("acr_values", Schemas.string)
            .query("max_age", Schemas.number)
            .replies(204).errors(.invalidToken, .insufficientScope, .insufficientUserAuthentication),
        "logout": Self("Ends the session.").replies(204),
        "me": Self("The account and its session.").replies(200, "me"),
        "changePassword": Self("Changes the password; all other sessions end, and a limited one too.")
            .json(Schemas.input(["current?": password, "new": password])).replies(204)
            .errors(.authenticationFailed, .weakPassword, .tooManyAttempts),
        "beginActivation": Self("Asks the attestation CA for a certificate.")
            .json(
                Schemas.input([
                    "ekCertificates?": Schemas.array(Schemas.bytes), "ekPublic?": Schemas.bytes,
                    "akPublic": Schemas.bytes,
                ])
            )
            .replies(201, "activation")
            .errors(.attestationRejected, .attestationUntrusted, .attestationRevoked),
        "completeActivation": Self(
            "Brings the secret back that only the chip can read; if the server gave a quoteNonce, with the chip's quote of the "
                + "boot state (TPMS_ATTEST) for it and the signature by the attestation key (r and s)."
        )
        .json(
            Schemas.input([
                "secret": Schemas.bytes, "quote?": Schemas.bytes, "quoteSignature?": Schemas.bytes,
            ])
        )
        .replies(200, "x5c")
        .errors(.ceremonyExpired, .attestationRejected, .bootStateUntrusted),
        "credentialOptions": Self("Begins the registration of a credential.")
            .json(
                Schemas.input([
                    "kind?": Schemas.choice(["device", "passkey"]), "label?": label, "hardware?": hardware,
                ])
            )
            .replies(200, "registrationCeremony").errors(.tooManyAttempts, .attestationUntrusted),
        "registerCredential": Self(
            "Ends the registration of a credential. Without a label a passkey gets its provider's name; a label that another "
                + "credential of the account has gets a number. What it replaces, a credential of the same device, stays until it is "
                + "removed."
        )
        .json(
            Schemas.input([
                "ceremonyId": Schemas.bytes, "credential": Schemas.ref("attestation"), "label?": label,
                "replaces?": Schemas.bytes,
            ])
        )
        .replies(201, "credential")
        .errors(
            .ceremonyExpired,
            .credentialExists,
            .attestationRejected,
            .attestationUntrusted,
            .keyPolicyRejected,
            .forbidden
        ),
        "deviceKeyOptions": Self("Begins the registration of a key that is no credential.")
            .replies(200, "deviceKeyCeremony").errors(.tooManyAttempts),
        "registerDeviceKey": Self(
            "Ends the registration of a key that is no credential: a certified TPM attests it for the challenge, a purpose and a name."
        )
        .json(
            Schemas.input([
                "ceremonyId": Schemas.bytes, "purpose": Schemas.text(1...64), "name": Schemas.text(1...255),
                "attestation": ["type": "object"], "x5c?": Schemas.array(Schemas.bytes),
            ])
        )
        .replies(201, "deviceKey")
        .errors(
            .ceremonyExpired,
            .credentialExists,
            .attestationRejected,
            .attestationUntrusted,
            .keyPolicyRejected,
            .forbidden
        ),
        "listDeviceKeys": Self("All such keys of the account.").replies(200, "deviceKeys"),
        "removeDeviceKey": Self("Removes such a key.").replies(204),
        "listCredentials": Self("All credentials of the account.").replies(200, "credentials"),
        "credential": Self("One credential.").replies(200, "credential"),
        "renameCredential": Self(
            "Gives a credential another label; one that another credential has gets a number."
        )
        .json(Schemas.input(["label": label])).replies(200, "credential"),
        "restoreOwnCredential": Self(
            "Restores a credential whose counter was refused, after a sign-in by another."
        )
        .replies(200, "credential"),
        "removeCredential": Self("Removes a credential; its sessions end.").replies(204),
        "endCredential": Self(
            "Suspends a credential for its device, which proves the session key (DPoP) that it was registered with."
        )
        .json(Schemas.input(["reason": Schemas.choice(CredentialRoutes.reportedEnds)])).replies(204),
        "listSessions": Self("All sessions of the account.").replies(200, "sessions"),
        "endSession": Self("Ends a session.").replies(204),
        "endOtherSessions": Self("Ends all sessions but the current one.")
            .query("except", Schemas.choice(["current"]), isRequired: true).replies(204),
        "createTransaction": Self("Makes a transaction that its owner is to confirm.")
            .json(
                Schemas.input([
                    "type": Schemas.text(1...64), "details": ["type": "object"],
                    "expiresIn?": ["type": "integer", "minimum": 10, "maximum": 86_400], "username?": name,
                ])
            )
            .replies(201, "transaction").errors(.forbidden, .notFound),
        "listTransactions": Self("The transactions that wait for whoever calls.")
            .replies(200, "transactions"),
        "transaction": Self("A transaction as it stands.").replies(200, "transaction"),
        "approveTransaction": Self("Confirms a transaction.")
            .json(Schemas.input(["credential": Schemas.ref("assertion")])).replies(200, "transaction")
            .errors(
                .transactionNotPending,
                .authenticationFailed,
                .credentialSuspended,
                .insufficientAssurance,
                .credentialExpired
            ),
        "rejectTransaction": Self("Turns a transaction down.").replies(200, "transaction")
            .errors(.transactionNotPending),
        "transactionEvidence": Self("What shows the confirmation to somebody else.")
            .replies(200, "evidence"),
        "relatedOrigins": Self("Related origins (WebAuthn Level 3, section 5.11).")
            .replies(200, "relatedOrigins"),
        "metadata": Self("What clients have to know (RFC 8414).").replies(200, "metadata"),
        "keys": Self("The keys of signed access tokens (RFC 7517).")
            .reply(200, Schemas.ref("keys"), type: "application/jwk-set+json"),
        "page": Self("The page for an account.").reply(200, Schemas.string, type: "text/html")
            .replies(304, nil, "Not modified.").errors(.notFound),
        "pageFile": Self("A file of the page.").reply(200, Schemas.string, type: "*/*")
            .replies(304, nil, "Not modified."),
        "openAPI": Self("This document.").reply(200, ["type": "object"]),
    ]

    private static let admin: [String: OperationDescription] = [
        "live": Self("The process answers.").replies(200, "health"),
        "ready": Self("The server can work.").replies(200, "health").replies(503, "health", "Not ready."),
        "metrics": Self("Prometheus' text format.").reply(200, Schemas.string, type: "text/plain"),
        "bootstrap": Self("Takes the one-time token for the first administrator's.")
            .json(Schemas.input(["token": Schemas.string, "name?": Schemas.text(1...64)]))
            .replies(201, "adminToken").errors(.authenticationFailed),
        "listAdminTokens": Self("All administrators' tokens.").replies(200, "adminTokens"),
        "addAdminToken": Self("Makes an administrator's token.")
            .json(
                Schemas.input([
                    "name": Schemas.text(1...64),
                    "role?": Schemas.choice(AdminRole.allCases.map(\.rawValue)),
                    "expiresIn?": ["type": "integer", "minimum": 60],
                ])
            )
            .replies(201, "adminToken"),
        "removeAdminToken": Self("Removes an administrator's token.").replies(204),
        "listUsers": Self(
            "Accounts in the order of their names; mixedScripts: the scripts of a name that may look like another one."
        )
        .query("after", Schemas.string)
        .query("count", ["type": "integer", "minimum": 1, "maximum": 1000]).replies(200, "users"),
        "createUser": Self("Makes an account.")
            .json(
                Schemas.input([
                    "username": name, "displayName?": label, "password?": password,
                    "mustChangePassword?": Schemas.boolean,
                ])
            )
            .replies(201, "user").errors(.usernameTaken, .weakPassword),
        "user": Self("One account.").replies(200, "user"),
        "updateUser": Self("Gives an account other names.")
            .json(Schemas.input(["username?": name, "displayName?": label])).replies(200, "user")
            .errors(.usernameTaken),
        "deleteUser": Self("Deletes an account.").replies(204),
        "setPassword": Self("Sets an account's password; its sessions end.")
            .json(Schemas.input(["new": password, "mustChangePassword?": Schemas.boolean])).replies(204)
            .errors(.weakPassword, .authenticationFailed),
        "createUserLink": Self(
            "Makes a link by which the owner gets in once; it replaces one of its kind. A recovery needs credentials: keep or end."
        )
        .json(
            Schemas.input([
                "kind": Schemas.choice(AccountLink.Kind.allCases.map(\.rawValue)),
                "credentials?": Schemas.formerCredentials, "deliver?": Schemas.boolean,
                "expiresIn?": [
                    "type": "integer", "minimum": .integer(UserLinkRoutes.lifetimes.lowerBound),
                    "maximum": .integer(UserLinkRoutes.lifetimes.upperBound),
                ],
            ])
        )
        .replies(201, "link").errors(.accountLockedByAdmin),
        "userLinks": Self("The links of an account that can be used.").replies(200, "links"),
        "revokeUserLink": Self("Revokes a link.").replies(204),
        "lockUser": Self("Keeps an account shut; its sessions and links end.").replies(200, "user"),
        "unlockUser": Self("Opens an account.").replies(200, "user"),
        "userSessions": Self("Sessions of an account.").replies(200, "sessions"),
        "endUserSessions": Self("Ends all sessions of an account.")
            .reply(200, Schemas.object(["ended": Schemas.integer])),
        "endUserSession": Self("Ends a session of an account.").replies(204),
        "userCredentials": Self("Credentials of an account.").replies(200, "credentials"),
        "removeUserCredential": Self("Removes a credential of an account.").replies(204),
        "suspendCredential": Self("Suspends a credential; its sessions end.").replies(200, "credential"),
        "restoreCredential": Self("Restores a credential.").replies(200, "credential"),
        "userAudit": Self("The audit of an account.").page().replies(200, "audit"),
        "audit": Self("The audit of all.").page().replies(200, "audit"),
        "adminOpenAPI": Self("This document.").reply(200, ["type": "object"]),
    ]

    private func reply(_ status: Int, _ schema: JSONValue, type: String = "application/json") -> Self {
        var copy = self
        copy.replies.append(Reply(status: status, text: "Done.", type: type, schema: schema))
        return copy
    }
}
