import Foundation
import KeychainClient
import KeychainModel
import LocalAuthentication
import ScriptedDaemon
import Synchronization
import Testing

@Suite("LAContext")
struct LAContextTests {
    private static func context(_ daemon: ScriptedDaemon) -> LAContext {
        KeychainConnection.$current.withValue(daemon.keychain) { LAContext() }
    }

    /// A peer that answers evaluations by the script, and everything else with success.
    private static func daemon(
        _ evaluation: @escaping @Sendable (EvaluatePolicy) -> ScriptedDaemon.Answer
    ) throws -> ScriptedDaemon {
        try ScriptedDaemon { head, reader in
            switch head.method {
            case .evaluatePolicy: return evaluation(try EvaluatePolicy(from: &reader))
            case .setCredential: _ = try SetCredential(from: &reader)
            case .invalidateContext: _ = try ContextNumber(from: &reader)
            default: break
            }
            return .body(EmptyBody())
        }
    }

    private static func success(_ domainState: [UInt8]? = nil) -> ScriptedDaemon.Answer {
        .body(EvaluationReply(factors: [.biometry], domainState: domainState))
    }

    /// The error that `evaluatePolicy` throws; nil if it succeeds.
    private static func failure(_ context: LAContext, reason: String = "test") async -> (any Error)? {
        do {
            #expect(try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: reason))
            return nil
        } catch {
            return error
        }
    }

    @Test("the request to the daemon has the app's reason and titles")
    func request() async throws {
        let seen = Mutex<EvaluatePolicy?>(nil)
        let daemon = try Self.daemon { request in
            seen.withLock { $0 = request }
            return Self.success(Array(repeating: 7, count: 32))
        }
        let context = Self.context(daemon)
        context.localizedCancelTitle = "Stop"
        context.localizedFallbackTitle = ""
        context.interactionNotAllowed = true
        context.touchIDAuthenticationAllowableReuseDuration = 1e9
        #expect(context.evaluatedPolicyDomainState == nil)
        #expect(await Self.failure(context, reason: "open the safe") == nil)
        let request = try #require(seen.withLock { $0 })
        #expect(request.policy == 2)
        #expect(request.prompt.reason == "open the safe")
        #expect(request.prompt.cancelTitle == "Stop")
        #expect(request.prompt.fallbackTitles == [])
        #expect(!request.prompt.interactionAllowed)
        #expect(request.reuseSeconds == 300)
        #expect(context.evaluatedPolicyDomainState == Data(repeating: 7, count: 32))
    }

    @Test(
        "each of the daemon's reasons becomes its LAError",
        arguments: [-1, -2, -3, -4, -5, -6, -7, -8, -13, -1004]
    )
    func reasons(number: Int) async throws {
        let daemon = try Self.daemon { _ in
            let cause = DriverCause(domain: "fprintd", code: "why")
            let error = AuthenticationError(.init(rawValue: number), cause: cause, remedy: .retry)
            return .failure(KeychainError(error))
        }
        let error = try #require(await Self.failure(Self.context(daemon)))
        let known = try #require(error as? LAError)
        #expect(known.code.rawValue == number)
        #expect(!known.localizedDescription.isEmpty)
        #expect((error as NSError).localizedRecoverySuggestion == "Try again.")
        let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        #expect(cause?.domain == "fprintd")
    }

    @Test("an empty reason is refused without a prompt")
    func emptyReason() async throws {
        let daemon = try Self.daemon { _ in Self.success() }
        let error = await Self.failure(Self.context(daemon), reason: "")
        #expect((error as? LAError)?.errorCode == -1001)
        #expect(daemon.requested == [])
    }

    @Test("an overlong reason is truncated")
    func longReason() async throws {
        let daemon = try Self.daemon { request in
            request.prompt.reason.utf8.count <= PromptFields.longestText
                ? Self.success() : .failure(KeychainError(.param))
        }
        #expect(
            await Self.failure(Self.context(daemon), reason: String(repeating: "ü\0", count: 10_000)) == nil
        )
    }

    @Test("the reply block is called once, on another thread")
    func callback() async throws {
        let daemon = try Self.daemon { _ in Self.success() }
        let context = Self.context(daemon)
        let (stream, replies) = AsyncStream<(Bool, Bool)>.makeStream()
        context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "test") { success, error in
            replies.yield((success, error == nil))
            context.invalidate()
            replies.finish()
        }
        var all: [(Bool, Bool)] = []
        for await reply in stream { all.append(reply) }
        #expect(all.count == 1)
        #expect(all.first?.0 == true && all.first?.1 == true)
    }

    @Test("invalidation ends an evaluation with appCancel and dismisses the prompt")
    func invalidation() async throws {
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let daemon = try Self.daemon { _ in
            ask.yield()
            return .hold
        }
        let context = Self.context(daemon)
        async let failure = Self.failure(context)
        for await _ in asked { break }
        context.invalidate()
        #expect((await failure as? LAError)?.code == .appCancel)
        #expect((await Self.failure(context) as? LAError)?.code == .invalidContext)
        var error: NSError?
        #expect(!context.canEvaluatePolicy(.deviceOwnerAuthentication, error: &error))
        #expect((error as? LAError)?.code == .invalidContext)
        #expect(!context.setCredential(Data("x".utf8), type: .applicationPassword))
        try await Eventually.holds {
            daemon.requested.contains(.cancel) && daemon.requested.contains(.invalidateContext)
        }
    }

    @Test("cancelling the task dismisses the prompt")
    func taskCancellation() async throws {
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let daemon = try Self.daemon { _ in
            ask.yield()
            return .hold
        }
        let context = Self.context(daemon)
        let task = Task { await Self.failure(context) }
        for await _ in asked { break }
        task.cancel()
        #expect((await task.value as? LAError)?.code == .appCancel)
        try await Eventually.holds { daemon.requested.contains(.cancel) }
        #expect(await Task { await Self.failure(context) }.cancelledAtOnce() is LAError)
    }

    @Test("biometryType is known whether or not a policy can be evaluated")
    func biometryType() throws {
        let availability = Mutex(AuthenticationAvailability(error: nil, hasSensor: false, domainState: nil))
        let daemon = try ScriptedDaemon { _, reader in
            _ = try CanEvaluatePolicy(from: &reader)
            return .body(AvailabilityReply(availability.withLock { $0 }))
        }
        let context = Self.context(daemon)
        #expect(context.biometryType == .none)
        let lockedOut = AuthenticationError(.biometryLockout)
        availability.withLock {
            $0 = AuthenticationAvailability(error: lockedOut, hasSensor: true, domainState: [1])
        }
        var error: NSError?
        #expect(!context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error))
        #expect((error as? LAError)?.code == .biometryLockout)
        #expect(context.biometryType == .touchID)
        #expect(context.evaluatedPolicyDomainState == nil)
        availability.withLock {
            $0 = AuthenticationAvailability(error: nil, hasSensor: true, domainState: [1, 2])
        }
        #expect(context.domainState.stateHash == nil)
        let before = context.domainState
        #expect(context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: nil))
        #expect(context.evaluatedPolicyDomainState == Data([1, 2]))
        #expect(context.domainState.biometry.stateHash == Data([1, 2]))
        #expect(context.domainState.biometry.biometryType == .touchID)
        #expect(context.domainState.stateHash == Data([1, 2]))
        #expect(context.domainState != before)
        #expect(context.domainState.companion.availableCompanionTypes == [])
        #expect(context.domainState.companion.stateHash == nil)
        #expect(context.domainState.companion.stateHash(for: .watch) == nil)
    }

    @Test("without a daemon biometry is not available")
    func noDaemon() async {
        let nowhere = Layout(
            runtimeDirectory: "/nonexistent",
            dataDirectory: "/nonexistent",
            configurationFile: "/nonexistent"
        )
        let context = KeychainConnection.$current.withValue(RemoteKeychain(layout: nowhere, daemon: .none)) {
            LAContext()
        }
        var error: NSError?
        #expect(!context.canEvaluatePolicy(.deviceOwnerAuthentication, error: &error))
        #expect((error as? LAError)?.code == .biometryNotAvailable)
        #expect((await Self.failure(context) as? LAError)?.code == .biometryNotAvailable)
    }

    @Test(
        "an access control is evaluated for each operation",
        arguments: [
            LAAccessControlOperation.createItem, .useItem, .createKey, .useKeySign, .useKeyDecrypt,
            .useKeyKeyExchange,
        ]
    )
    func accessControl(operation: LAAccessControlOperation) async throws {
        let seen = Mutex<EvaluateAccessControl?>(nil)
        let daemon = try ScriptedDaemon { head, reader in
            guard head.method == .evaluateAccessControl else {
                _ = try ContextNumber(from: &reader)
                return .body(EmptyBody())
            }
            let request = try EvaluateAccessControl(from: &reader)
            seen.withLock { $0 = request }
            return Self.success()
        }
        let rules = try #require(
            SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .biometryAny, nil)
        )
        let context = Self.context(daemon)
        #expect(
            try await context.evaluateAccessControl(rules, operation: operation, localizedReason: "test")
        )
        let request = try #require(seen.withLock { $0 })
        #expect(request.operation == operation.rawValue)
        #expect(request.accessControl.flags == .biometryAny)
        #expect(request.prompt.reason == "test")
    }

    @Test("an application password is kept until it is removed or the context is invalidated")
    func credentials() throws {
        let daemon = try Self.daemon { _ in Self.success() }
        let context = Self.context(daemon)
        #expect(!context.isCredentialSet(.applicationPassword))
        #expect(context.setCredential(Data("sesame".utf8), type: .applicationPassword))
        #expect(context.isCredentialSet(.applicationPassword))
        #expect(!context.isCredentialSet(.smartCardPIN))
        #expect(!context.setCredential(Data("1234".utf8), type: .smartCardPIN))
        #expect(context.setCredential(nil, type: .applicationPassword))
        #expect(!context.isCredentialSet(.applicationPassword))
        #expect(context.setCredential(Data("sesame".utf8), type: .applicationPassword))
        context.invalidate()
        #expect(!context.isCredentialSet(.applicationPassword))
    }

    @Test("a context passes its number, reason and titles to keychain operations")
    func keychainOperation() throws {
        let seen = Mutex<[CopyItems]>([])
        let daemon = try ScriptedDaemon { _, reader in
            let request = try CopyItems(from: &reader)
            seen.withLock { $0.append(request) }
            return .items([.init(data: [1])])
        }
        try KeychainConnection.$current.withValue(daemon.keychain) {
            let context = LAContext()
            context.localizedReason = "read the note"
            let query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword,
                kSecUseAuthenticationContext as String: context,
                kSecReturnData as String: true,
            ]
            var result: CFTypeRef?
            #expect(SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess)
            #expect(SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess)
            let requests = seen.withLock { $0 }
            let number = try #require(requests.first?.context)
            #expect(requests.map(\.context) == [number, number])
            #expect(requests.first?.prompt.reason == "read the note")
            context.invalidate()
            #expect(SecItemCopyMatching(query as CFDictionary, &result) == errSecAuthFailed)
            let cause = TouchstoneCopyLastError()?.userInfo[NSUnderlyingErrorKey] as? NSError
            #expect((cause as? LAError)?.code == .invalidContext)
        }
    }

    @Test("a subclass can override evaluation, in both forms")
    func subclass() async throws {
        final class Mock: LAContext, @unchecked Sendable {
            override func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool { true }
            override func evaluatePolicy(
                _ policy: LAPolicy,
                localizedReason: String,
                reply: @escaping @Sendable (Bool, (any Error)?) -> Void
            ) {
                reply(false, LAError(.userFallback))
            }
        }
        let mock = Mock()
        #expect(mock.canEvaluatePolicy(.deviceOwnerAuthentication, error: nil))
        #expect((await Self.failure(mock) as? LAError)?.code == .userFallback)
    }
}

extension Task where Failure == Never {
    /// The value of a task that is cancelled at once.
    fileprivate func cancelledAtOnce() async -> Success {
        cancel()
        return await value
    }
}
