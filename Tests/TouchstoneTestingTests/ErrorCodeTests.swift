import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// Brings about each of Apple's error codes with the kit alone, without a device, root or an entitlement.
@Suite("Every error code can be brought about", .serialized, .timeLimit(.minutes(10)))
struct ErrorCodeTests {
    /// A call to a keychain, and its expected code.
    struct Cause<Code: Sendable & Equatable>: Sendable {
        let code: Code
        let words: String
        let seen: @Sendable (TemporaryKeychain) async throws -> Code?

        init(
            _ code: Code,
            _ words: String,
            _ seen: @escaping @Sendable (TemporaryKeychain) async throws -> Code?
        ) {
            (self.code, self.words, self.seen) = (code, words, seen)
        }
    }

    /// Causes in sequence on one keychain, which takes a second or two to start; destructive ones come last.
    struct Course<Code: Sendable & Equatable>: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reader: TestReader?
        let enrolled: [TestFinger]
        let causes: [Cause<Code>]

        init(
            _ words: String,
            reader: TestReader? = .image,
            enrolled: [TestFinger] = [.first],
            _ causes: [Cause<Code>]
        ) {
            (testDescription, self.reader, self.enrolled, self.causes) = (words, reader, enrolled, causes)
        }

        /// Runs each cause, and expects its code.
        func run() async throws {
            let keychain = try await TemporaryKeychain(reader: reader, enrolled: enrolled)
            for cause in causes {
                let seen = try await keychain.use { try await cause.seen(keychain) }
                #expect(seen == cause.code, "\(cause.words)")
            }
        }
    }

    private static let biometry = LAPolicy.deviceOwnerAuthenticationWithBiometrics
    private static let owner = LAPolicy.deviceOwnerAuthentication

    // MARK: LAError

    /// Codes that no fault brings about, and why.
    static let unseenLAErrors: [LAError.Code: String] = [
        .authenticationFailed:
            "twenty touches that a reader cannot read: Conformance causes it on the virtual reader",
        .biometryNotPaired: "no reader of Linux is paired with the machine",
        .invalidDimensions: "an LAAuthenticationView's, and there are none",
    ]

    static let laErrors: [Course<LAError.Code>] = [
        Course(
            "a reader that is unplugged at the end",
            [
                Cause(.invalidContext, "a context that was ended") { _ in
                    let context = LAContext()
                    context.invalidate()
                    return await NoteStore.evaluate(biometry, context)
                },
                Cause(.companionNotAvailable, "a companion is asked for") { _ in
                    await NoteStore.evaluate(.deviceOwnerAuthenticationWithCompanion)
                },
                Cause(.notInteractive, "the app forbids a prompt") { _ in
                    let context = LAContext()
                    context.interactionNotAllowed = true
                    return await NoteStore.evaluate(biometry, context)
                },
                Cause(.userCancel, "the person presses cancel") { keychain in
                    keychain.person(.cancels)
                    return await NoteStore.evaluate(biometry)
                },
                Cause(.userFallback, "the person presses the fallback button") { keychain in
                    keychain.person(.choosesFallback)
                    return await NoteStore.evaluate(biometry)
                },
                Cause(.appCancel, "the app ends its context") { keychain in
                    let context = LAContext()
                    return try await whilePrompted(keychain, context) { context.invalidate() }
                },
                Cause(.systemCancel, "the machine goes to sleep") { keychain in
                    try await whilePrompted(keychain) { try await keychain.cause(.suspend) }
                },
                Cause(.biometryDisconnected, "the reader is unplugged in mid-scan") { keychain in
                    try await whilePrompted(keychain) { try await keychain.cause(.unplug) }
                },
            ]
        ),
        Course(
            "a reader that is locked out, and no passcode at the end",
            [
                Cause(.biometryLockout, "five wrong fingers") { keychain in
                    keychain.person(.touches(.second), .touches(.second))
                    _ = await NoteStore.evaluate(biometry)
                    return await NoteStore.evaluate(biometry)
                },
                Cause(.passcodeNotSet, "the passcode is removed") { keychain in
                    try await keychain.cause(.removePasscode)
                    return await NoteStore.evaluate(owner)
                },
            ]
        ),
        Course(
            "no reader",
            reader: nil,
            [
                Cause(.biometryNotAvailable, "there is no reader") { _ in
                    await NoteStore.evaluate(biometry)
                }
            ]
        ),
        Course(
            "no finger",
            enrolled: [],
            [
                Cause(.biometryNotEnrolled, "no finger is enrolled") { _ in
                    await NoteStore.evaluate(biometry)
                }
            ]
        ),
    ]

    private static func whilePrompted(
        _ keychain: TemporaryKeychain,
        _ context: LAContext = LAContext(),
        _ body: () async throws -> Void
    ) async throws -> LAError.Code? {
        keychain.person(.ignores)
        let before = keychain.prompts.count
        async let outcome = NoteStore.evaluate(biometry, context)
        try await Deadline.wait(for: "the prompt") { keychain.prompts.count > before ? true : nil }
        try await body()
        return await outcome
    }

    @Test("LAError codes", arguments: laErrors)
    func localAuthentication(_ course: Course<LAError.Code>) async throws { try await course.run() }

    @Test("each LAError code is brought about, or listed with the reason why it cannot be")
    func allLAErrors() {
        let caused = Set(Self.laErrors.flatMap(\.causes).map(\.code)), unseen = Set(Self.unseenLAErrors.keys)
        #expect(caused.isDisjoint(with: unseen))
        let all = ((-1100)...(-1)).compactMap(LAError.Code.init(rawValue:))
        #expect(all.filter { !caused.contains($0) && !unseen.contains($0) } == [])
    }

    // MARK: OSStatus

    static let statuses: [Course<OSStatus>] = [
        Course(
            "a reader that is locked out at the end",
            [
                Cause(errSecUserCanceled, "the person presses cancel") { keychain in
                    _ = NoteStore.add("one")
                    keychain.person(.cancels)
                    return NoteStore.read().status
                },
                Cause(errSecInteractionNotAllowed, "the app forbids a prompt") { _ in
                    _ = NoteStore.add("one")
                    let context = LAContext()
                    context.interactionNotAllowed = true
                    return NoteStore.read(context).status
                },
                Cause(errSecAuthFailed, "five wrong fingers") { keychain in
                    _ = NoteStore.add("one")
                    keychain.person(.touches(.second))
                    return NoteStore.read().status
                },
            ]
        ),
        Course(
            "a daemon that crashes",
            [
                Cause(errSecInternalComponent, "the daemon crashes in front of a prompt") { keychain in
                    _ = NoteStore.add("one")
                    keychain.person(.ignores)
                    async let outcome = NoteStore.read().status
                    try await Deadline.wait(for: "the prompt") { keychain.prompts.isEmpty ? nil : true }
                    try await keychain.cause(.daemonCrash)
                    return await outcome
                }
            ]
        ),
        Course(
            "no reader, and no passcode at the end",
            reader: nil,
            [
                Cause(errSecItemNotFound, "nothing was stored") { _ in
                    NoteStore.read().status
                },
                Cause(errSecDuplicateItem, "stored twice") { _ in
                    _ = NoteStore.add("one", nil)
                    return NoteStore.add("two", nil)
                },
                Cause(errSecMissingEntitlement, "a group that the app is not in") { _ in
                    SecItemAdd(
                        [
                            kSecClass: kSecClassGenericPassword, kSecAttrAccount: "a",
                            kSecValueData: Data([1]),
                            kSecAttrAccessGroup: "org.example.nobody",
                        ] as [CFString: Any] as CFDictionary,
                        nil
                    )
                },
                Cause(errSecUnimplemented, "matching of certificates") { _ in
                    SecItemCopyMatching(
                        [kSecClass: kSecClassGenericPassword, kSecMatchSubjectContains: "a"]
                            as [CFString: Any]
                            as CFDictionary,
                        nil
                    )
                },
                Cause(errSecNoSuchClass, "a class that is none") { _ in
                    SecItemCopyMatching([kSecClass: "none"] as [CFString: Any] as CFDictionary, nil)
                },
                Cause(errSecNoSuchAttr, "an attribute that is none") { _ in
                    SecItemAdd(
                        [kSecClass: kSecClassGenericPassword, "none": 1, kSecValueData: Data([1])]
                            as [CFString: Any]
                            as CFDictionary,
                        nil
                    )
                },
                Cause(errSecDataTooLarge, "more data than an item takes") { _ in
                    NoteStore.add(String(repeating: "x", count: 2 << 20), nil)
                },
                Cause(errSecParam, "a query without a class") { _ in
                    SecItemCopyMatching([kSecAttrAccount: "a"] as [CFString: Any] as CFDictionary, nil)
                },
                Cause(errSecNotAvailable, "there is no passcode") { keychain in
                    try await keychain.cause(.removePasscode)
                    return NoteStore.read().status
                },
            ]
        ),
        Course(
            "a store that is damaged",
            reader: nil,
            [
                Cause(errSecDecode, "stored bytes are flipped") { keychain in
                    _ = NoteStore.add(String(repeating: "s3cret", count: 5000), nil)
                    try await keychain.cause(.damage)
                    return NoteStore.read().status
                }
            ]
        ),
    ]

    /// Statuses that are not brought about here, and why.
    static let unseenStatuses: [OSStatus: String] = [
        errSecIO: "a device that fails under the file system: strace injects it in Conformance, as root",
        errSecReadOnly: "a file system that is read only: a mount in Conformance, as root",
        errSecAllocate: "locked memory that is used up: a limit of the test's whole process",
        errSecBadReq: "a client of another version than the daemon",
        errSecInteractionRequired: "no call of the fronts answers so: Apple's name for keychains of macOS",
    ]

    @Test("OSStatus codes", arguments: statuses)
    func security(_ course: Course<OSStatus>) async throws { try await course.run() }

    @Test("each OSStatus of the model is brought about, or listed with the reason why it cannot be")
    func allStatuses() {
        let caused = Set(Self.statuses.flatMap(\.causes).map(\.code)), unseen = Set(Self.unseenStatuses.keys)
        #expect(caused.isDisjoint(with: unseen))
        // KeychainModel's statuses, whose names are not Apple's.
        let all: Set<OSStatus> = [
            -4, -34, -36, -50, -108, -128, -909, -2070, -25291, -25292, -25293, -25299, -25300, -25302,
            -25303,
            -25306, -25308, -25315, -26275, -34018,
        ]
        // A full disk needs root, and has its own test in FaultTests.
        #expect(caused.union(unseen).union([errSecDiskFull]) == all)
    }
}
