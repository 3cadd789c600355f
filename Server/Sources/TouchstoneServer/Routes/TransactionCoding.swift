internal import AccountStore
internal import Crypto
internal import WebAuthnModel

extension Transaction {
    /// The transaction in the API's form; includes what a client needs to confirm it only while it is pending.
    var json: JSONValue {
        get throws {
            let isPending = status == .pending
            let receipt: JSONValue? =
                if status == .approved, let evidence, let decidedAt {
                    [
                        "transactionId": JSONValue(base64URL: id.bytes),
                        "credentialId": JSONValue(base64URL: evidence.credential.bytes),
                        "approvedAt": .integer(decidedAt.seconds),
                        "detailsHash": JSONValue(base64URL: Array(SHA256.hash(data: Array(details.utf8)))),
                    ]
                } else { nil }
            return JSONValue(members: [
                "id": JSONValue(base64URL: id.bytes),
                "type": .string(type),
                "status": .string(status.rawValue),
                "details": try JSONValue(parsing: Array(details.utf8)),
                "nonce": JSONValue(base64URL: nonce),
                "createdAt": .integer(createdAt.seconds),
                "expiresAt": .integer(expiresAt.seconds),
                "publicKey": isPending ? try JSONValue(parsing: Array(options.utf8)) : nil,
                "approvedAt": status == .approved ? decidedAt.map { .integer($0.seconds) } : nil,
                "receipt": receipt,
            ])
        }
    }
}
