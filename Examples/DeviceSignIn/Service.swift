import Foundation
import LoopbackHTTP
import WebAuthnDevice
import WebAuthnModel

/// The API of the server that the app signs in to.
final class Service {
    /// An error returned by the server, in its own words.
    struct Refusal: LocalizedError {
        let status: Int
        let code: String
        let detail: String?

        var errorDescription: String? { "\(status) \(code)" + (detail.map { ": \($0)" } ?? "") }
    }

    /// The public URL, such as `http://localhost:8080`: also the app's origin and the URL in proofs.
    let url: String
    let proofKey: ProofKey
    /// The session's access token.
    var access: String?
    private let http: LoopbackHTTP
    private var nonce: String?

    init?(url: String, proofKey: ProofKey) {
        guard let parts = URLComponents(string: url), parts.scheme == "http", parts.host == "localhost",
            let port = parts.port.flatMap(UInt16.init(exactly:))
        else { return nil }
        self.url = url
        self.proofKey = proofKey
        http = LoopbackHTTP(port: port)
    }

    /// Sends JSON; with a proof of possession of the session key if `bound`: for a request that begins a session or changes credentials.
    func call(
        _ method: String,
        _ path: String,
        _ body: JSONValue? = nil,
        bound: Bool = false
    ) throws -> JSONValue {
        try send(method, path, body?.json ?? [], type: "application/json", bound: bound)
    }

    /// Renews the session (RFC 6749, section 6; RFC 9449, section 5).
    func renew(_ token: String) throws -> JSONValue {
        let form = "grant_type=refresh_token&refresh_token=\(token)"
        return try send(
            "POST",
            "/v1/token",
            Array(form.utf8),
            type: "application/x-www-form-urlencoded",
            bound: true
        )
    }

    private func send(
        _ method: String,
        _ path: String,
        _ body: [UInt8],
        type: String,
        bound: Bool
    ) throws -> JSONValue {
        // The server answers a proof without a nonce with a nonce to use.
        for isLast in [false, true] {
            var headers = ["Content-Type": type]
            if let access { headers["Authorization"] = "Bearer \(access)" }
            if bound {
                headers["DPoP"] = try proofKey.proof(
                    method: method,
                    url: url + path,
                    nonce: nonce,
                    accessToken: access,
                    reason: "renew your session"
                )
            }
            let answer = try http.send(method, path, headers: headers, body: body)
            nonce = answer.headers["dpop-nonce"] ?? nonce
            let json = answer.body.isEmpty ? [:] : try JSONValue(parsing: answer.body)
            if (200..<300).contains(answer.status) { return json }
            let code = json.object?["code"]?.string ?? json.object?["error"]?.string ?? "no code"
            guard code == "use_dpop_nonce", !isLast else {
                throw Refusal(status: answer.status, code: code, detail: json.object?["detail"]?.string)
            }
        }
        preconditionFailure("the loop ends with its second round")
    }
}
