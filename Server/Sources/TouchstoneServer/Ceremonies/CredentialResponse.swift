internal import WebAuthn
internal import WebAuthnModel

/// Parses the member `credential` of a body.
enum CredentialResponse {
    /// - Throws: ``Problem`` with `invalid_request`.
    static func authentication(_ json: JSONValue) throws(Problem) -> AuthenticationResponse {
        do throws(WebAuthnError) { return try AuthenticationResponse(json) } catch { throw problem(error) }
    }

    /// - Throws: ``Problem`` with `invalid_request`.
    static func registration(_ json: JSONValue) throws(Problem) -> RegistrationResponse {
        do throws(WebAuthnError) { return try RegistrationResponse(json) } catch { throw problem(error) }
    }

    private static func problem(_ error: WebAuthnError) -> Problem {
        var problem = Problem(.invalidRequest, "the credential is malformed")
        problem.faults = [Problem.Fault(pointer: "/credential", detail: error.cause)]
        return problem
    }
}
