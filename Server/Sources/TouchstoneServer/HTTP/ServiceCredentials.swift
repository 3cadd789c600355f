internal import Foundation
internal import HTTPTypes
internal import HummingbirdCore

/// How a service authenticates in the header of a request.
enum ServiceCredentials: Equatable {
    /// `Authorization: Bearer` with the secret.
    case bearer(String)
    /// `Authorization: Basic` with name and secret (RFC 6749, section 2.3.1); each of the pairs is possible, because not
    /// all clients encode both as the section demands.
    case basic([Pair])

    /// A name and a secret.
    struct Pair: Equatable {
        let name: String
        let secret: String
    }

    /// Reads the header; nil: there is none, or it has another form.
    init?(_ request: Request) {
        guard let field = request.headers[.authorization] else { return nil }
        self.init(field: field)
    }

    /// Reads the value of such a header.
    init?(field: String) {
        let parts = field.split(separator: " ", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        switch parts[0].lowercased() {
        case "bearer": self = .bearer(String(parts[1]))
        case "basic":
            guard let bytes = Data(base64Encoded: String(parts[1])),
                let text = String(validating: bytes, as: UTF8.self), let colon = text.firstIndex(of: ":")
            else {
                self = .basic([])
                return
            }
            let plain = Pair(name: String(text[..<colon]), secret: String(text[text.index(after: colon)...]))
            self = .basic([plain] + (Self.decoded(plain).map { [$0] } ?? []))
        default: return nil
        }
    }

    private static func decoded(_ pair: Pair) -> Pair? {
        let parts = [pair.name, pair.secret].map { $0.replacing("+", with: " ").removingPercentEncoding }
        guard let name = parts[0], let secret = parts[1] else { return nil }
        return Pair(name: name, secret: secret)
    }
}

extension ServiceSecrets {
    /// The service with these credentials; nil: none has them.
    func service(with credentials: ServiceCredentials) -> String? {
        switch credentials {
        case .bearer(let secret): service(presenting: secret)
        case .basic(let pairs): pairs.first { has($0.name, $0.secret) }?.name
        }
    }
}

extension Service {
    /// The service that calls an OAuth endpoint: authenticated by the header, or by the form's `client_id` and
    /// `client_secret` (RFC 6749, section 2.3.1), but not by both.
    ///
    /// - Throws: ``OAuthProblem``.
    func callingService(_ call: Call, _ form: [String: String]) throws(OAuthProblem) -> String {
        let secret = form["client_secret"]
        if case .service(let name) = call.caller {
            guard secret == nil, form["client_id"].map({ $0 == name }) ?? true else {
                throw OAuthProblem(
                    .invalidRequest,
                    "the service authenticates both in the header and in the form"
                )
            }
            return name
        }
        guard let name = form["client_id"], let secret, serviceSecrets.has(name, secret) else {
            throw OAuthProblem(.invalidClient)
        }
        return name
    }
}
