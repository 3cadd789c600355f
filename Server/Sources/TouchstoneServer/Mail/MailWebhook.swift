internal import AccountStore
internal import AsyncHTTPClient
internal import Crypto
internal import Foundation
internal import NIOCore
internal import NIOHTTP1

/// An address to which messages are sent by POST, with a signature.
struct MailWebhook: Sendable, Equatable {
    private let url: String
    /// One, or two while it changes.
    private let secrets: [[UInt8]]

    /// The header field of the signature.
    static let field = "Touchstone-Signature"

    /// - Parameters:
    ///   - url: the address.
    ///   - secretFile: the file with the secret.
    /// - Throws: ``ConfigurationFault`` when the file cannot be read, or the secret is guessable.
    init(url: String, secretFile: String?) throws(ConfigurationFault) {
        self.url = url
        guard let secretFile, let text = try SecretFile.existing(secretFile) else {
            throw ConfigurationFault(place: secretFile ?? "mail-webhook-secret-file", reason: "is not there")
        }
        secrets = try ServiceSecrets.texts(text, of: secretFile).map { Array($0.utf8) }
    }

    /// The value of the field: `t=` the time in seconds, and for each secret `v1=` HMAC-SHA-256 in hexadecimal of the time's
    /// digits, a point and the body.
    func signature(of body: [UInt8], at now: Timestamp) -> String {
        let time = String(now.seconds)
        let signed = Array("\(time).".utf8) + body
        let codes = secrets.map { secret in
            "v1=\(Array(HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: secret))).hexadecimal)"
        }
        return (["t=\(time)"] + codes).joined(separator: ",")
    }

    /// Sends a message once; a redirect is not followed, and counts as a failure as every status but those from 200 to 299.
    ///
    /// - Returns: why it was not delivered; nil: it was.
    func post(_ body: [UInt8], _ client: HTTPClient, timeout: Duration, now: Timestamp) async -> String? {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.headers.add(name: Self.field, value: signature(of: body, at: now))
        request.headers.add(name: "User-Agent", value: "touchstone-server/\(ServerVersion.text)")
        request.body = .bytes(ByteBuffer(bytes: body))
        do {
            let response = try await client.execute(
                request,
                timeout: .seconds(timeout.components.seconds)
            )
            let status = response.status.code
            return (200...299).contains(status) ? nil : "HTTP status \(status)"
        } catch {
            return "\(error)"
        }
    }

    /// A client for webhooks: certificates are verified, and redirects not followed.
    static func client() -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = .seconds(10)
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }
}
