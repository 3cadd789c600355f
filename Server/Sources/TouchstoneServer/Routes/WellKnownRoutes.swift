internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import RelyingParty
internal import WebAuthnModel

/// The documents at well-known paths.
enum WellKnownRoutes {
    static let operations: [Operation] = [
        Operation(.get, "/.well-known/webauthn", "relatedOrigins", .open, handle: relatedOrigins),
        Operation(.get, "/.well-known/oauth-authorization-server", "metadata", .open, handle: metadata),
        Operation(.get, "/.well-known/jwks.json", "keys", .open, handle: keys),
        Operation(.get, "/v1/openapi.json", "openAPI", .open) { service, _ in
            .json(OpenAPIDocument(API.operations, server: service.configuration.publicURL).json)
        },
    ]

    /// Related origins (WebAuthn Level 3, section 5.11.1): only web origins, because native clients do not read the
    /// list.
    private static func relatedOrigins(_ service: Service, _ call: Call) async throws -> Reply {
        let origins = service.configuration.acceptedOrigins.filter { $0.hasPrefix("https://") }
        return .json(["origins": .array(origins.map { .string($0) })])
    }

    /// The keys of signed access tokens (RFC 7517, section 5), of all servers on the store.
    private static func keys(_ service: Service, _ call: Call) async throws -> Reply {
        let keys = try await service.store.publishedKeys(now: call.now)
            .compactMap { TokenKey(rawRepresentation: $0.rawRepresentation) }
        return Reply(
            status: .ok,
            body: .json(["keys": .array(keys.map(\.jwk))], type: "application/jwk-set+json")
        ).with(.cacheControl, "public, max-age=\(TokenSigner.cacheLifetime.components.seconds)")
    }

    /// RFC 8414, section 2; RFC 9449, section 5.1.
    private static func metadata(_ service: Service, _ call: Call) async throws -> Reply {
        let url = service.configuration.publicURL
        let scopes = service.audiences.scopes
        return .json(
            JSONValue(members: [
                "issuer": .string(url),
                "jwks_uri": .string("\(url)/.well-known/jwks.json"),
                "token_endpoint": .string("\(url)/v1/token"),
                "revocation_endpoint": .string("\(url)/v1/revoke"),
                "introspection_endpoint": .string("\(url)/v1/introspect"),
                "introspection_endpoint_auth_methods_supported": [
                    "client_secret_basic", "client_secret_post", "Bearer",
                ],
                "grant_types_supported": ["refresh_token"],
                "token_endpoint_auth_methods_supported": ["none"],
                "revocation_endpoint_auth_methods_supported": ["none"],
                "dpop_signing_alg_values_supported": ["ES256"],
                "acr_values_supported": ["phrh", "phr", "pwd"],
                "scopes_supported": scopes.isEmpty ? nil : .array(scopes.map { .string($0) }),
            ])
        )
    }
}

/// All operations of the API port.
enum API {
    static let operations: [Operation] =
        LoginRoutes.operations + PasskeyRoutes.operations + TokenRoutes.operations + ResourceRoutes.operations
        + AccountRoutes.operations + LinkRoutes.operations + RecoveryRoutes.operations
        + SelfRegistrationRoutes.operations + OwnAccountRoutes.operations
        + AttestationRoutes.operations + RegistrationRoutes.operations + CredentialRoutes.operations
        + DeviceKeyRoutes.operations
        + SessionRoutes.operations + TransactionRoutes.operations + WellKnownRoutes.operations
        + PageRoutes.operations
}
