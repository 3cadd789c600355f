// Signs in once, and stores the session's tokens so that only the currently enrolled fingers open them: sign-in, show,
// refresh, sign-out.
import Foundation
import Touchstone

struct Tokens: Codable {
    var access: String
    var refresh: String
}

/// Enrolling a finger ends the session, so an attacker gains nothing by it; the user signs in with the password again.
let session = SecretStore("com.example.session")

/// A stand-in for the password and the server.
func signInWithPassword() -> Tokens { Tokens(access: "access-1", refresh: "refresh-1") }

do {
    switch CommandLine.arguments.dropFirst().first {
    case "sign-in":
        // Tokens invalidated by a change of fingers are deleted only here, because the user has just signed in.
        try await session.delete("tokens")
        try await session.write(signInWithPassword(), for: "tokens")
        print("signed in")
    case "show":
        let tokens: Tokens = try await session.read("tokens", with: "Show your session")
        print("access: \(tokens.access)")
    case "refresh":
        // One prompt for reading and writing.
        let isThere = try await session.update("tokens", as: Tokens.self, with: "Refresh your session") {
            tokens in
            tokens = tokens.map { Tokens(access: "access-2", refresh: $0.refresh) }
            return tokens != nil
        }
        print(isThere ? "refreshed" : "not signed in")
    case "sign-out":
        print(try await session.delete("tokens") == .deleted ? "signed out" : "not signed in")
    default:
        print("usage: SessionTokens sign-in | show | refresh | sign-out")
    }
} catch {
    switch error.code {
    case .notFound: print("not signed in")
    case .invalidated: print("the fingers have changed: sign in with the password")
    default: print("\(error.message()) \(error.advice())")
    }
    exit(1)
}
