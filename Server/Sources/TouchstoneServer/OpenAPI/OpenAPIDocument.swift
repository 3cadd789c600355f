internal import AccountStore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import WebAuthnModel

/// The OpenAPI 3.1 document of operations: the common parts come from the operations themselves, the specific parts
/// from ``OperationDescription``.
struct OpenAPIDocument: Sendable {
    let operations: [Operation]
    let server: String

    init(_ operations: [Operation], server: String) {
        self.operations = operations
        self.server = server
    }

    private static let summary =
        "Passwords, passkeys, device keys, sessions and transactions of a relying party. HEAD is answered wherever GET is, "
        + "without the body."

    var json: JSONValue {
        var paths: [(name: String, value: [(name: String, value: JSONValue)])] = []
        for operation in operations {
            let entry = (operation.method.rawValue.lowercased(), self.operation(operation))
            if let index = paths.firstIndex(where: { $0.name == operation.path }) {
                paths[index].value.append(entry)
            } else {
                paths.append((operation.path, [entry]))
            }
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Touchstone server", "version": .string(ServerVersion.text),
                "description":
                    .string(Self.summary),
            ],
            "servers": [["url": .string(server)]],
            "paths": .object(JSONObject(paths.map { ($0.name, .object(JSONObject($0.value))) })),
            "components": [
                "schemas": Schemas.all,
                "securitySchemes": [
                    "sessionCookie": [
                        "type": "apiKey", "in": "cookie", "name": "__Host-touchstone-access",
                        "description":
                            "An access token in a cookie; other methods than GET need the header Origin too.",
                    ],
                    "accessToken": ["type": "http", "scheme": "bearer", "description": "An access token."],
                    "serviceSecret": [
                        "type": "http", "scheme": "bearer",
                        "description": "A service's secret: service-secret-file, service-secret-directory.",
                    ],
                    "serviceBasic": [
                        "type": "http", "scheme": "basic",
                        "description":
                            "A service's name and secret; the name is service for service-secret-file.",
                    ],
                    "adminToken": [
                        "type": "http", "scheme": "bearer", "description": "An administrator's token.",
                    ],
                ],
            ],
        ]
    }

    private func operation(_ operation: Operation) -> JSONValue {
        let description = OperationDescription.all[operation.id] ?? OperationDescription("")
        var parameters = operation.path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
            part -> JSONValue in
            [
                "name": .string(String(part.dropFirst().dropLast())), "in": "path", "required": true,
                "schema": ["type": "string"],
            ]
        }
        parameters += description.query.map { name, isRequired, schema in
            ["name": .string(name), "in": "query", "required": .bool(isRequired), "schema": schema]
        }
        if operation.takesDPoP {
            parameters.append([
                "name": "DPoP", "in": "header", "required": false, "schema": ["type": "string"],
                "description": "A proof of RFC 9449 with the nonce of the header DPoP-Nonce.",
            ])
        }
        return JSONValue(members: [
            "operationId": .string(operation.id),
            "summary": .string(description.summary),
            "security": .array(security(operation.access)),
            "parameters": parameters.isEmpty ? nil : .array(parameters),
            "requestBody": description.body.map { type, schema in
                ["required": true, "content": .object(JSONObject([(type, ["schema": schema])]))]
            },
            "responses": .object(JSONObject(responses(operation, description))),
        ])
    }

    private func security(_ access: Operation.Access) -> [JSONValue] {
        func scheme(_ name: String) -> JSONValue { .object(JSONObject([(name, [])])) }
        return switch access {
        case .open: []
        case .openOrSession: [[:], scheme("accessToken"), scheme("sessionCookie")]
        case .session, .fresh: [scheme("accessToken"), scheme("sessionCookie")]
        case .service: [scheme("serviceSecret"), scheme("serviceBasic")]
        // The last one: client_id and client_secret in the form.
        case .serviceOrForm: [scheme("serviceSecret"), scheme("serviceBasic"), [:]]
        case .serviceOrSession:
            [scheme("serviceSecret"), scheme("serviceBasic"), scheme("accessToken"), scheme("sessionCookie")]
        case .admin: [scheme("adminToken")]
        }
    }

    private func responses(
        _ operation: Operation,
        _ description: OperationDescription
    ) -> [(name: String, value: JSONValue)] {
        var responses: [(name: String, value: JSONValue)] = description.replies.map { reply in
            let content: JSONValue? = reply.schema.map { schema in
                .object(JSONObject([(reply.type, ["schema": schema])]))
            }
            return (
                "\(reply.status)",
                JSONValue(members: ["description": .string(reply.text), "content": content])
            )
        }
        // A status that the operation itself describes is not repeated.
        let codes = self.codes(operation, description)
        for status in Set(codes.map(\.status)).sorted()
        where !description.replies.contains(where: { $0.status == status }) {
            let names = codes.filter { $0.status == status }.map(\.rawValue).sorted()
            let type = operation.hasOAuthErrors ? "application/json" : "application/problem+json"
            let schema: JSONValue = [
                "$ref": operation.hasOAuthErrors
                    ? "#/components/schemas/oauthError" : "#/components/schemas/problem"
            ]
            responses.append(
                (
                    "\(status)",
                    [
                        "description": .string(names.joined(separator: ", ")),
                        "content": .object(JSONObject([(type, ["schema": schema])])),
                    ]
                )
            )
        }
        return responses
    }

    /// The error codes of this operation, including those of its kind.
    func codes(_ operation: Operation, _ description: OperationDescription) -> Set<Problem.Code> {
        var codes = Set(description.errors).union([.internalError, .overloaded])
        if description.body != nil {
            codes.formUnion([.invalidRequest, .contentTooLarge, .unsupportedMediaType])
        }
        if operation.path.contains("{") { codes.insert(.notFound) }
        if !description.query.isEmpty { codes.insert(.invalidRequest) }
        if operation.takesDPoP { codes.formUnion([.invalidDPoPProof, .useDPoPNonce]) }
        switch operation.access {
        case .open: break
        case .service, .serviceOrForm: codes.insert(.invalidToken)
        case .admin(let role):
            codes.insert(.invalidToken)
            if role > .read { codes.insert(.forbidden) }
        case .openOrSession, .session, .serviceOrSession:
            codes.insert(.invalidToken)
            if operation.tasks.count < SessionTask.allCases.count { codes.insert(.sessionLimited) }
            if operation.method != .get { codes.insert(.forbidden) }
        case .fresh:
            codes.formUnion([.invalidToken, .insufficientUserAuthentication, .forbidden])
            if operation.tasks.count < SessionTask.allCases.count { codes.insert(.sessionLimited) }
        }
        return codes
    }
}
