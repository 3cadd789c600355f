import Foundation
import KeychainClient
import KeychainModel
import LoopbackHTTP
import Testing
import Touchstone
import TouchstoneTesting
import WebAuthnModel

@testable import TouchstoneLogin

/// The server program, which the package in `Server/` builds.
enum ServerProgram {
    /// The path that `Scripts/test-server` gives.
    private static let named = ProcessInfo.processInfo.environment["TOUCHSTONE_SERVER"]

    /// That path; otherwise the one in that package's build directory.
    static let path: String = {
        if let named { return named }
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return root.appending(path: "Server/.build/debug/touchstone-server").path
    }()

    /// A path that was given is used in any case: a test that finds no program there fails instead of being skipped.
    static var isThere: Bool { named != nil || FileManager.default.isExecutableFile(atPath: path) }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test if the server program is missing.
    static var server: Self {
        .enabled(if: ServerProgram.isThere, "Scripts/test-server builds it and runs this")
    }
}

/// A server that apps reach through a relay, and a keychain with a fingerprint reader.
struct LoginWorld {
    let relay: Relay
    let server: SignInServer
    let keychain: TemporaryKeychain

    init(chip: TestChip? = nil, settings: [String: String] = [:]) async throws {
        relay = try Relay()
        server = try await SignInServer.start(
            ServerProgram.path,
            settings: [
                "public-url": relay.url.absoluteString, "password-cost": "10,8,1",
                "passwords-per-minute": "1000", "ceremonies-per-minute": "1000",
            ].merging(settings) { $1 }
        )
        relay.stand(before: server.api)
        keychain = try await TemporaryKeychain(reader: .matchOnChip, chip: chip)
    }

    /// A client of the app; each call is like another start of it.
    func login(_ rule: AccessRule = .biometry, timeout: Duration = .seconds(60)) -> LoginClient {
        LoginClient(server: relay.url, rule: rule, timeout: timeout)
    }

    /// Signs in by password.
    func session(_ login: LoginClient) async throws -> LoginSession {
        try await login.signIn(user: SignInServer.user, password: SignInServer.password)
    }

    /// Signs in by password and sets the device up.
    func setUp(_ login: LoginClient) async throws -> (LoginSession, LoginDevice) {
        let session = try await session(login)
        let offer = try #require(try await session.offer())
        return (session, try await offer.accept(label: "Laptop", "Sign in by finger from now on"))
    }

    /// Makes another account, with the password of the first.
    func addUser(_ name: String) throws {
        let answer = try administer(
            "POST",
            "/users",
            ["username": .string(name), "password": .string(SignInServer.password)]
        )
        #expect(answer["username"]?.string == name)
    }

    /// A request of the administrator.
    func administer(_ method: String, _ path: String, _ body: JSONValue? = nil) throws -> JSONObject {
        let answer = try server.administration.send(
            method,
            "/admin/v1\(path)",
            headers: ["Content-Type": "application/json", "Authorization": "Bearer \(server.token)"],
            body: body?.json ?? []
        )
        return answer.body.isEmpty ? JSONObject([]) : try #require(try JSONValue(parsing: answer.body).object)
    }

    /// Signs in by password as a user, and sets the device up.
    func setUp(_ login: LoginClient, as user: String) async throws -> (LoginSession, LoginDevice) {
        let session = try await login.signIn(user: user, password: SignInServer.password)
        let offer = try #require(try await session.offer())
        return (session, try await offer.accept(label: "\(user)'s", "Sign in by finger from now on"))
    }

    /// The store of the devices' records.
    var records: SecretStore {
        SecretStore(DeviceStore.recordStore(relay.url.absoluteString), rule: .whenUnlocked)
    }

    /// The store of an account's token; nil: of the version before accounts.
    func tokens(_ account: String?, _ rule: AccessRule = .biometry) -> SecretStore {
        SecretStore(DeviceStore.tokenStore(relay.url.absoluteString, account), rule: rule)
    }

    /// The names of all values that the keychain stores for the app: records of accounts as `device`.
    func kept(_ login: LoginClient) async throws -> Set<String> {
        let keys = Set(try await records.status().keys)
        let accounts = keys.compactMap { $0.hasPrefix("account:") ? String($0.dropFirst(8)) : nil }
        var names = Set(keys.map { $0.hasPrefix("account:") ? "device" : $0 })
        for account in accounts + [nil] {
            names.formUnion(try await tokens(account, login.rule).status().keys)
        }
        return names
    }

    /// The representation of the credential's key, from the record that the keychain stores for the app; nil: the only account.
    func credentialKey(_ login: LoginClient, of account: String? = nil) async throws -> [UInt8] {
        let record = try #require(try await login.store.choose(account, .silent))
        return try DeviceKeys.representation(of: record.credential)
    }

    /// Why a credential cannot sign in, as the server's list says; nil: it can.
    func suspension(_ id: String, of account: String) throws -> String? {
        let list = try administer("GET", "/users/\(account)/credentials")["credentials"]?.array ?? []
        return list.first { $0.object?["id"]?.string == id }?.object?["suspension"]?.string
    }

    /// Why a key cannot be used; nil if it can.
    func refusal(of key: [UInt8]) async throws -> TouchstoneError.Code? {
        do throws(TouchstoneError) {
            try await Keychain.current.perform(nil) { client, prompt, _ throws(TouchstoneError) in
                do throws(KeychainError) {
                    _ = try client.readKey(ReadKey(representation: key, prompt: prompt))
                } catch {
                    throw TouchstoneError(below: error)
                }
            }
            return nil
        } catch {
            return error.code
        }
    }

    /// A request with an access token.
    func call(
        _ method: String,
        _ path: String,
        _ access: String,
        _ body: JSONValue? = nil
    ) throws -> JSONObject {
        let answer = try server.api.send(
            method,
            path,
            headers: ["Content-Type": "application/json", "Authorization": "Bearer \(access)"],
            body: body?.json ?? []
        )
        return try #require(try JSONValue(parsing: answer.body).object)
    }
}

/// The error of a call; nil if it succeeds.
func failure<R>(_ body: () async throws(TouchstoneError) -> R) async -> TouchstoneError? {
    do throws(TouchstoneError) {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}
