// Signs in to a touchstone-server: with the password the first time, with a finger from then on.
//
//     SignIn http://localhost:8080 anna < password
import Foundation
import Touchstone
import TouchstoneLogin

@main
struct SignIn {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let server = URL(string: arguments[1]) else {
            return fail("usage: SignIn URL USER, and the password on standard input")
        }
        do throws(TouchstoneError) {
            let session = try await session(LoginClient(server: server), user: arguments[2])
            print("signed in as \(session.user): \(session.assurance.level)")
            for device in try await session.devices() {
                print("\(device.label)\(device.isThisDevice ? ", this device" : "")")
            }
        } catch {
            fail("\(error.message()) \(error.advice())\n\(error)")
        }
    }

    /// The user's session; signs in with a finger or the password, as needed.
    static func session(_ login: LoginClient, user: String) async throws(TouchstoneError) -> LoginSession {
        let session = try await signIn(login, user: user)
        // Sign-in with this computer from now on, or a new key for it where the server wants one.
        if let offer = try await session.offer() {
            let label = offer.replaces?.label ?? "This computer"
            print("set up: \(try await offer.accept(label: label, "Sign in by finger from now on").label)")
        }
        return session
    }

    static func signIn(_ login: LoginClient, user: String) async throws(TouchstoneError) -> LoginSession {
        let reason: PromptText = "Sign in to \(login.server.host() ?? "the server")"
        // Others may have set this computer up for themselves.
        if let account = try await login.accounts(reason).first(where: { $0.user == user }) {
            if account.isUsable { return try await login.account(account.id).signIn(reason) }
            print("The enrolled fingers are others than before: sign in by password again.")
        }
        return try await login.signIn(user: user, password: readLine() ?? "")
    }

    static func fail(_ words: String) {
        FileHandle.standardError.write(Data("error: \(words)\n".utf8))
        exit(1)
    }
}
