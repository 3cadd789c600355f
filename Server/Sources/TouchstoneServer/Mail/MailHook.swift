internal import AccountStore
internal import AsyncHTTPClient
internal import Foundation
internal import WebAuthnModel

/// Where notices for users go, for a program of the administrator's to send as mail: the server sends none itself.
enum MailHook: Sendable, Equatable {
    case command(MailCommand)
    case webhook(MailWebhook)

    /// How long a delivery may take.
    static let timeout = Duration.seconds(30)

    /// Reads the settings; nil: there is no hook.
    ///
    /// - Throws: ``ConfigurationFault`` for a program that cannot be run, or a secret that cannot be read.
    init?(_ configuration: ServerConfiguration) throws(ConfigurationFault) {
        if let path = configuration.mailCommand {
            self = .command(try MailCommand(path: path))
        } else if let url = configuration.mailWebhook {
            self = .webhook(try MailWebhook(url: url, secretFile: configuration.mailWebhookSecretFile))
        } else {
            return nil
        }
    }

    /// Delivers a message once.
    ///
    /// - Returns: why it was not delivered; nil: it was.
    func deliver(_ message: [UInt8], _ client: HTTPClient, now: Timestamp) async -> String? {
        switch self {
        case .command(let command): await command.run(message, timeout: Self.timeout)
        case .webhook(let webhook): await webhook.post(message, client, timeout: Self.timeout, now: now)
        }
    }
}

extension Notice {
    /// The message: an object in canonical JSON (RFC 8785), with the server that it is from.
    ///
    /// - Parameter service: the public address of the server.
    /// - Returns: the message's bytes.
    func message(from service: String) -> [UInt8] {
        let object = JSONValue(members: [
            "version": 1,
            "id": JSONValue(base64URL: id),
            "event": .string(event.rawValue),
            "service": .string(service),
            "account": JSONValue(base64URL: account.bytes),
            "username": .string(username),
            "displayName": .string(displayName),
            "time": .integer(time.milliseconds),
            "reason": .string(reason),
            "byAdministrator": .bool(byAdministrator),
            "address": address.isEmpty ? nil : .string(address),
            "trace": .string(trace),
            "attempt": .integer(Int64(attempts)),
            "link": link.map { .string($0) },
        ])
        return (try? CanonicalJSON.encode(object)) ?? []
    }
}
