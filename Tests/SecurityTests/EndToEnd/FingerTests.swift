import Foundation
import KeychainClient
import KeychainModel
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// iOS code with the real daemon, fprintd and matcher; synthetic fingers touch a virtual sensor.
@Suite(
    "iOS code and a fingerprint, on real parts",
    .serialized,
    .enabled(if: RunningKeychain.isBuilt, "touchstoned is not built"),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/libexec/fprintd"), "no fprintd"),
    .timeLimit(.minutes(20))
)
struct FingerTests {
    private static let account = "finger"

    private func add() -> OSStatus {
        guard
            let access = SecAccessControlCreateWithFlags(
                nil,
                kSecAttrAccessibleWhenUnlocked,
                .biometryCurrentSet,
                nil
            )
        else { return errSecParam }
        let item: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: Self.account,
            kSecValueData: Data("secret".utf8), kSecAttrAccessControl: access,
        ]
        return SecItemAdd(item as CFDictionary, nil)
    }

    private func read(_ context: LAContext? = nil) -> (OSStatus, String?) {
        var query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: Self.account, kSecReturnData: true,
        ]
        query[kSecUseAuthenticationContext] = context
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        return (status, (result as? Data).map { String(decoding: $0, as: UTF8.self) })
    }

    /// Runs blocking code on its own thread, with this keychain as the user's.
    private func apart<R: Sendable>(
        _ keychain: PrivateKeychain,
        _ body: @escaping @Sendable () -> R
    ) async -> R {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let origin = keychain.prompt().origin
                let value = KeychainConnection.$current.withValue(keychain.client) {
                    KeychainConnection.$promptOrigin.withValue(origin, operation: body)
                }
                continuation.resume(returning: value)
            }
        }
    }

    @Test("the enrolled finger releases the item, its context releases it again, another finger does not")
    func fingers() async throws {
        let bus = try await PrivateBus.start(sensors: [.image])
        let mine = SyntheticFinger(1)
        try await Enroller(bus).enrol(mine)
        let keychain = try await PrivateKeychain.ready(
            bus: bus,
            settings: ["test.template-directory = \(bus.templateDirectory)"]
        )
        let reader = VirtualReader(bus)
        // Drawn before the prompt is shown, whose timeout is short.
        let (right, wrong) = (mine.impression(20), SyntheticFinger(6).impression(0))
        #expect(await apart(keychain) { add() } == errSecSuccess)

        try keychain.tellPerson([.waits])
        async let released = apart(keychain) {
            let context = LAContext()
            return (read(context), read(context))
        }
        try await reader.touch(right)
        let (first, second) = await released
        #expect(first == (errSecSuccess, "secret"))
        #expect(second == (errSecSuccess, "secret"), "an authenticated context asks for nothing")

        // Refused once; then the user cancels.
        try keychain.tellPerson([.waits, .cancels])
        async let refused = apart(keychain) { read() }
        try await reader.touch(wrong)
        #expect(await refused == (errSecUserCanceled, nil))

        try await Enroller(bus).enrol(SyntheticFinger(2), as: "left-index-finger")
        try keychain.tellPerson([.cancels])
        #expect(await apart(keychain) { read() } == (errSecItemNotFound, nil), "the enrolled set changed")
        keychain.stop(with: SIGTERM)
        await bus.stop()
    }
}
