// swift-tools-version: 6.2
import PackageDescription

// The layers are the folders of Sources, lowest first: C, Ground, Model, Core, Drivers, Doors, Fronts, Kit, Programs. A target
// depends on its own and lower layers only (docs/ARCHITECTURE.md, section "Layers"). `Security`, `LocalAuthentication`,
// `CryptoKit` and `CoreFoundation` have Apple's names and are built on Linux only: see the end of this file.

/// Set by `.ci/run`, so that a warning fails the build there and only there.
let warnings: [SwiftSetting] =
    Context.environment["TOUCHSTONE_WARNINGS"] == "error" ? [.treatAllWarnings(as: .error)] : []
let settings: [SwiftSetting] =
    warnings + [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
    ]
/// For targets that call C or use raw memory: every unsafe operation is marked `unsafe`.
let nearC = settings + [.strictMemorySafety()]
/// An asynchronous function runs on its caller's actor.
let onCaller = SwiftSetting.enableUpcomingFeature("NonisolatedNonsendingByDefault")
/// For targets on a request's path, which then need not ask at each call whether they have to change executors.
let requestPath = nearC + [onCaller]
/// For code like that of apps, of which it is the default from Xcode 26 on.
let modern = settings + [onCaller]
/// The variant of the module `Touchstone` that uses Apple's frameworks.
let appleSide = settings + [.define("APPLE_SIDE"), onCaller]

/// Set by `Scripts/release` to a directory of archives to link instead of shared libraries.
let archives = Context.environment["TOUCHSTONE_ARCHIVES"]
/// The command starts once for every secret: statically linked it starts in a third of the time.
///
/// Addresses are still randomised (static-pie), which needs the toolchain's linker. Packed, the relocations take 6 KB instead of
/// 0.7 MB; the program's own C library, of version 2.36 or later, applies them.
let commandLinkage: [LinkerSetting] =
    archives == nil
    ? []
    : [
        .unsafeFlags([
            "-static-executable", "-use-ld=lld", "-Xclang-linker", "-static-pie",
            "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs",
        ])
    ]
/// Symbols are resolved at the start (`-z now`).
///
/// Resolving one at the first call of a function would save all vector registers to the stack, and with them what was last copied
/// through them, such as a key.
///
/// In a release, which links the toolchain's archives, all relocations are read at a start: packed, they take 20 KB instead of
/// 2.4 MB. Exported symbols, which nothing looks up in a program, would take 1.4 MB.
let daemonLinkage: [LinkerSetting] = {
    var linker = ["-z", "now"]
    var driver: [String] = []
    if let archives {
        linker += ["-z", "pack-relative-relocs", "--no-export-dynamic"]
        driver = ["-L", archives, "-use-ld=lld"]
    }
    return [.unsafeFlags(driver + linker.flatMap { ["-Xlinker", $0] })]
}()

/// A library that other programs load brings Swift's libraries along, exports one function, and stays in memory once it was loaded,
/// because Swift's runtime cannot be unloaded.
let moduleLinkage: [LinkerSetting] = [
    .unsafeFlags([
        "-static-stdlib", "-use-ld=lld", "-Xlinker", "--version-script",
        "-Xlinker", Context.packageDirectory + "/Sources/Fronts/touchstone-pkcs11/exports.map",
        "-Xlinker", "-z", "-Xlinker", "nodelete", "-Xlinker", "-z", "-Xlinker", "now",
        "-Xlinker", "-z", "-Xlinker", "defs", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs",
        "-Xlinker", "--gc-sections",
        // What Foundation's archive needs; compiled for a shared Foundation, the objects do not name it.
        "-l_FoundationCollections", "-l_FoundationCShims",
    ])
]

let examples = [
    "AskFirst", "BiometricLock", "BiometricNote", "EnclaveSigner", "RightsStore", "TokenStore",
]
/// The examples of the module `Touchstone`.
let asyncExamples = ["CapabilityWatch", "Notes", "PaymentSigner", "SealedFile", "SessionTokens"]

// Products of other packages.
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let asn1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let serviceLifecycle = Target.Dependency.product(
    name: "ServiceLifecycle",
    package: "swift-service-lifecycle"
)
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")

/// A module of the layer that it is listed in.
func module(
    _ name: String,
    _ uses: [Target.Dependency] = [],
    exclude: [String] = [],
    settings: [SwiftSetting] = nearC
) -> Target {
    .target(name: name, dependencies: uses, exclude: exclude, swiftSettings: settings)
}

/// A program of the layer that it is listed in.
func program(
    _ name: String,
    _ uses: [Target.Dependency],
    settings: [SwiftSetting] = nearC,
    linker: [LinkerSetting]? = nil
) -> Target {
    .executableTarget(name: name, dependencies: uses, swiftSettings: settings, linkerSettings: linker)
}

/// Tests in a folder of their name under `Tests`.
func tests(
    _ name: String,
    _ uses: [Target.Dependency],
    exclude: [String] = [],
    settings: [SwiftSetting] = settings
) -> Target {
    .testTarget(name: name, dependencies: uses, exclude: exclude, swiftSettings: settings)
}

/// The layers, as folders under `Sources`: a target imports targets of its own folder or of one listed before it
/// (docs/ARCHITECTURE.md, section "Layers").
let layers: KeyValuePairs<String, [Target]> = [
    "C": [
        .target(name: "CLinux"),
        .target(name: "CItemFiles", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(
            name: "CFrequentWords",
            exclude: ["words.txt", "phrases.txt"],
            cSettings: [.headerSearchPath(".")]
        ),
        .target(
            name: "COpenSSL",
            // The linker exports only the symbols that it sees a library use.
            linkerSettings: [
                .unsafeFlags([
                    "-Xlinker", "--export-dynamic-symbol=OSSL_LIB_CTX_new",
                    "-Xlinker", "--export-dynamic-symbol=OSSL_LIB_CTX_free",
                ])
            ]
        ),
        // The header of PKCS #11.
        .target(name: "CPKCS11"),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CTSS2", pkgConfig: "tss2-esys", providers: [.apt(["libtss2-dev"])]),
    ],
    "Ground": [
        module("SecretMemory", ["CLinux"]),
        module("CBOR"),
        module("Threads"),
        module("FrequentWords", ["CFrequentWords"]),
        module("ModularArithmetic", settings: settings),
        module("ServiceNotification"),
        // A client of a message bus (D-Bus) on libsystemd.
        module("MessageBus", ["CLinux", "CSystemd", "SecretMemory", "Threads"]),
        // The only target that calls cryptography in C.
        module("Primitives", ["CLinux", "SecretMemory", crypto]),
    ],
    "Model": [
        module("WebAuthnModel", ["CBOR"], settings: settings),
        module("KeychainModel", ["SecretMemory", "CBOR", "WebAuthnModel"]),
        // System facts about processes and enrolled fingers: a per-user daemon reads them itself, other daemons ask the broker.
        module("SystemFacts", ["CLinux", "KeychainModel"]),
        // The protocol between the daemon and the broker.
        module("BrokerProtocol", ["CBOR"]),
        // Listening sockets and the processes at their other ends, for every door.
        module(
            "PeerSockets",
            ["CLinux", "KeychainModel", "SecretMemory", "SystemFacts", "Threads"],
            settings: requestPath
        ),
        // The items of the Secret Service as items of the keychain.
        module("SecretServiceModel", ["KeychainModel", crypto]),
        // What ssh and its agent exchange: keys, signatures, requests, known hosts; no sockets.
        module("SSHFormat", [crypto, cryptoExtras], settings: settings),
    ],
    "Core": [
        module(
            "AuthenticationEngine",
            ["FrequentWords", "KeychainModel", "SecretMemory"],
            settings: settings
        ),
        module(
            "KeychainEngine",
            [
                "CItemFiles", "CLinux", "CSQLite", "KeychainModel", "Primitives", "SecretMemory", "CBOR",
                "Threads", crypto,
            ]
        ),
        // The use cases, written against the ports only; targets that speak a protocol with callers are its doors.
        module(
            "Desk",
            ["KeychainModel", "Primitives", "SecretMemory", "SystemFacts"],
            settings: requestPath
        ),
        // Moving a keychain to system mode and back, and the components of system mode; for the command line only.
        module("SystemMigration", ["CLinux", "KeychainModel"]),
    ],
    "Drivers": [
        module(
            "FingerprintDriver",
            ["KeychainModel", "MessageBus", "SystemFacts"]
        ),
        // Queries the broker, for a daemon under a dedicated account.
        module(
            "BrokerDriver",
            ["BrokerProtocol", "CLinux", "KeychainModel", "SecretMemory", "SystemFacts", "Threads"]
        ),
        module(
            "TPMDriver",
            [
                "CLinux", "CTSS2", "COpenSSL", "CBOR", "KeychainModel", "Primitives", "SecretMemory",
                "Threads", "WebAuthnModel",
            ]
        ),
        module("PinentryDriver", ["CLinux", "KeychainModel", "SecretMemory", "Threads"]),
    ],
    "Doors": [
        module(
            "KeychainServer",
            ["CLinux", "Desk", "KeychainModel", "PeerSockets", "SecretMemory", "CBOR", "Threads"],
            settings: requestPath
        ),
        // The ssh-agent: the keys that every program of the user may use, each under its own rule.
        module(
            "SSHAgentServer",
            [
                "CBOR", "CLinux", "Desk", "KeychainModel", "PeerSockets", "Primitives", "SecretMemory",
                "SSHFormat", "Threads",
            ],
            settings: requestPath
        ),
    ],
    "Fronts": [
        module("KeychainClient", ["CLinux", "KeychainModel", "SecretMemory", "CBOR"]),
        module(
            "WebAuthnDevice",
            ["CBOR", "KeychainClient", "KeychainModel", "SecretMemory", "WebAuthnModel", crypto],
            settings: settings
        ),
        module(
            "Touchstone",
            ["KeychainClient", "KeychainModel", "SecretMemory", "Threads", "WebAuthnModel", crypto],
            // The variant for Apple's systems, built by TouchstoneOnFronts.
            exclude: ["Apple"],
            settings: modern
        ),
        module(
            "TouchstoneLogin",
            [
                "KeychainClient", "KeychainModel", "SecretMemory", "Touchstone", "WebAuthnDevice",
                "WebAuthnModel", crypto,
            ],
            settings: modern
        ),
        module("CoreFoundation", settings: settings),
        module(
            "Security",
            [
                "CoreFoundation", "KeychainClient", "KeychainModel", "ModularArithmetic", "SecretMemory",
                crypto, cryptoExtras, asn1,
            ],
            settings: settings
        ),
        module(
            "LocalAuthentication",
            ["Security", "KeychainClient", "KeychainModel", "SecretMemory"],
            settings: settings
        ),
        module(
            "CryptoKit",
            ["LocalAuthentication", "Security", "KeychainClient", "KeychainModel", "SecretMemory", crypto],
            settings: settings
        ),
        // The keys of every program as a PKCS #11 token; no tasks and no threads, because a program may fork.
        module("PKCS11Module", ["CPKCS11", "KeychainClient", "KeychainModel", "SecretMemory", crypto]),
        // The library that programs load: the table of functions, and what is linked how.
        .target(
            name: "touchstone-pkcs11",
            dependencies: ["CPKCS11", "PKCS11Module"],
            exclude: ["exports.map"],
            linkerSettings: moduleLinkage
        ),
    ],
    "Kit": [
        // The test kit: the real daemon and other real parts, isolated; also for an app's tests.
        module(
            "TouchstoneTesting",
            [
                "CLinux", "CSystemd", "FingerprintDriver", "KeychainClient", "KeychainModel", "LoopbackHTTP",
                "MessageBus", "SecretMemory", "Threads", "Touchstone", "WebAuthnModel",
            ],
            // Read from the source directory.
            exclude: ["System/unit-sandbox.py", "System/unit_calls.py"]
        ),
        // Plain HTTP to a server on the same machine.
        module("LoopbackHTTP"),
    ],
    "Programs": [
        module(
            "TouchstoneDaemon",
            [
                "AuthenticationEngine", "BrokerDriver", "Desk", "KeychainEngine", "KeychainServer",
                "FingerprintDriver", "PeerSockets", "PinentryDriver", "Primitives", "SSHAgentServer",
                "TPMDriver", "KeychainModel", "SecretMemory", "ServiceNotification", "CLinux", logging,
                serviceLifecycle, unixSignals,
            ]
        ),
        program("touchstoned", ["TouchstoneDaemon"], linker: daemonLinkage),
        // Identifies callers and digests templates for daemons under a dedicated account: runs as root with one capability.
        module(
            "TouchstoneBroker",
            ["BrokerProtocol", "CLinux", "KeychainModel", "Primitives", "SecretMemory", "SystemFacts"]
        ),
        program("touchstone-broker", ["TouchstoneBroker"], linker: daemonLinkage),
        // The daemon with parts that a test chooses.
        program(
            "touchstoned-testing",
            [
                "BrokerDriver", "FingerprintDriver", "KeychainEngine", "KeychainModel", "PinentryDriver",
                "Primitives", "TouchstoneDaemon",
            ],
            linker: daemonLinkage
        ),
        // Draws prompts in the user's session for a daemon under a dedicated account; the program is set-gid.
        module(
            "TouchstoneAgent",
            ["CLinux", "KeychainClient", "KeychainModel", "PinentryDriver", "SecretMemory", "Threads"]
        ),
        program("touchstone-agent", ["TouchstoneAgent"], linker: commandLinkage),
        // The Secret Service on the session bus, for the items of programs that know no other keychain.
        module(
            "TouchstoneSecrets",
            [
                "CLinux", "KeychainClient", "KeychainModel", "MessageBus", "ModularArithmetic", "PeerSockets",
                "SecretMemory", "SecretServiceModel", "SystemFacts", "Threads", crypto, cryptoExtras,
            ]
        ),
        program("touchstone-secrets", ["TouchstoneSecrets"], linker: daemonLinkage),
        program(
            "touchstone",
            [
                "BrokerDriver", "KeychainClient", "KeychainModel", "Primitives", "SecretMemory",
                "SecretServiceModel", "SSHFormat", "SystemFacts", "SystemMigration", "Threads", "CLinux",
                argumentParser, crypto,
            ],
            linker: commandLinkage
        ),
        program("touchstone-demo", ["TouchstoneTesting"], settings: settings),
        // Runs a command, such as an app's tests, with a keychain of its own; never installed.
        program("touchstone-with-keychain", ["TouchstoneTesting"], settings: settings),
    ],
]

/// The tests, and what only they need.
let tested: [Target] = [
    tests("SecretMemoryTests", ["SecretMemory"]),
    tests("PrimitivesTests", ["Primitives", "SecretMemory", crypto]),
    tests("CBORTests", ["CBOR", "TouchstoneTesting"]),
    tests("WebAuthnModelTests", ["CBOR", "WebAuthnModel"]),
    tests("SSHFormatTests", ["SSHFormat", crypto, cryptoExtras]),
    tests("KeychainModelTests", ["CBOR", "KeychainModel", "SecretMemory", "TouchstoneTesting"]),
    // What never changes unnoticed: the bytes of messages, and the strings that are stored or derive keys.
    tests(
        "PinnedTests",
        [
            "BrokerProtocol", "CBOR", "CItemFiles", "CTSS2", "Desk", "FingerprintDriver", "KeychainClient",
            "KeychainEngine", "KeychainModel", "KeychainServer", "Primitives", "SecretMemory", "TPMDriver",
            "Touchstone", "TouchstoneDaemon", "TouchstoneLogin", "WebAuthnModel",
        ],
        // Read from the source directory.
        exclude: ["Golden"]
    ),
    tests(
        "AuthenticationEngineTests",
        ["AuthenticationEngine", "FrequentWords", "KeychainModel", "SecretMemory", "TouchstoneTesting"]
    ),
    tests(
        "KeychainEngineTests",
        [
            "KeychainEngine", "KeychainModel", "Primitives", "SecretMemory", "CBOR", "TouchstoneTesting",
            crypto, grdb,
        ],
        // Keychains that earlier versions created, read from the source directory.
        exclude: ["Fixtures"]
    ),
    tests(
        "FingerprintDriverTests",
        ["FingerprintDriver", "KeychainModel", "MessageBus", "SystemFacts", "TouchstoneTesting"]
    ),
    tests(
        "TouchstoneTestingTests",
        [
            "BiometricNote", "FingerprintDriver", "KeychainClient", "KeychainModel", "LocalAuthentication",
            "SecretMemory", "Security", "TokenStore", "Touchstone", "TouchstoneTesting",
            "touchstone-with-keychain", "touchstoned-testing",
        ]
    ),
    tests("PinentryDriverTests", ["PinentryDriver", "KeychainModel", "SecretMemory", "TouchstoneTesting"]),
    // Tests the device with the daemon, the server's program and third-party verifiers.
    tests(
        "WebAuthnDeviceTests",
        [
            "CBOR", "KeychainClient", "KeychainModel", "LoopbackHTTP", "TouchstoneTesting", "WebAuthnDevice",
            "WebAuthnModel", "DeviceSignIn", "touchstoned-testing", crypto,
        ],
        exclude: ["Foreign"]
    ),
    tests(
        "TPMDriverTests",
        [
            "CBOR", "CTSS2", "KeychainModel", "SecretMemory", "TPMDriver", "TouchstoneTesting",
            "WebAuthnModel", crypto, cryptoExtras,
        ]
    ),
    tests(
        "DeskTests",
        [
            "AuthenticationEngine", "CBOR", "CLinux", "Desk", "FingerprintDriver", "KeychainEngine",
            "KeychainModel", "PeerSockets", "SecretMemory", "SSHAgentServer", "SSHFormat", "Threads",
            "TouchstoneTesting", crypto,
        ]
    ),
    tests(
        "KeychainServerTests",
        [
            "CBOR", "Desk", "KeychainModel", "KeychainServer", "PeerSockets", "SecretMemory",
            "TouchstoneTesting",
        ]
    ),
    // A scripted daemon for the client's socket.
    .target(
        name: "ScriptedDaemon",
        dependencies: ["CBOR", "KeychainClient", "KeychainModel", "SecretMemory"],
        path: "Tests/ScriptedDaemon",
        swiftSettings: settings
    ),
    tests(
        "KeychainClientTests",
        ["CBOR", "CLinux", "KeychainClient", "KeychainModel", "ScriptedDaemon", "SecretMemory"]
    ),
    tests(
        "TouchstoneBrokerTests",
        [
            "BrokerDriver", "BrokerProtocol", "CBOR", "CLinux", "KeychainModel", "SecretMemory",
            "SystemFacts", "TouchstoneBroker", "TouchstoneTesting", "touchstone-broker",
        ]
    ),
    // Runs the real programs, which the build puts beside the tests.
    tests(
        "DaemonTests",
        [
            "CBOR", "CLinux", "Desk", "FingerprintDriver", "KeychainClient", "KeychainModel", "Primitives",
            "SecretMemory", "TouchstoneDaemon", "TouchstoneTesting", "touchstone", "touchstone-agent",
            "touchstoned",
            "touchstoned-testing",
        ]
    ),
    // Accounts, bus and namespace of a machine in system mode.
    tests(
        "SystemModeTests",
        [
            "BrokerProtocol", "FingerprintDriver", "KeychainModel", "SecretMemory", "TouchstoneTesting",
            "touchstone", "touchstone-agent", "touchstone-broker", "touchstone-secrets", "touchstoned",
            "touchstoned-testing",
        ]
    ),
    tests(
        "SystemMigrationTests",
        [
            "CLinux", "KeychainClient", "KeychainModel", "SecretMemory", "SystemMigration",
            "TouchstoneTesting", "touchstone", "touchstoned-testing",
        ]
    ),
    // A separate target, because its load would delay the other tests past their deadlines.
    tests(
        "DaemonLoadTests",
        ["KeychainClient", "KeychainModel", "SecretMemory", "TouchstoneTesting", "touchstoned-testing"]
    ),
    tests(
        "DaemonTPMTests",
        [
            "CBOR", "KeychainClient", "KeychainEngine", "KeychainModel", "Primitives", "SecretMemory",
            "TPMDriver", "TouchstoneTesting", "touchstone", "touchstoned-testing",
        ]
    ),
    tests(
        "FaultTests",
        [
            "CBOR", "KeychainClient", "KeychainEngine", "KeychainModel", "Primitives", "SecretMemory",
            "Touchstone", "TouchstoneTesting", "touchstone", "touchstoned-testing",
        ]
    ),
    tests(
        "CommandLineTests",
        [
            "CLinux", "KeychainClient", "KeychainModel", "MessageBus", "ScriptedDaemon", "SecretMemory",
            "SecretServiceModel", "Touchstone", "TouchstoneTesting", "touchstone", "touchstone-secrets",
            "touchstoned-testing", crypto, cryptoExtras,
        ],
        // Conversations of clients of the Secret Service, read from the source directory.
        exclude: ["SecretService/Transcripts"]
    ),
    // Calls a PKCS #11 module, for its tests.
    .executableTarget(name: "module-caller", dependencies: ["CPKCS11"], path: "Tests/ModuleCaller"),
    // The library and programs that load it, with the fixtures of CommandLineTests by links.
    tests(
        "PKCS11Tests",
        [
            "CLinux", "CPKCS11", "KeychainClient", "KeychainModel", "PKCS11Module", "ScriptedDaemon",
            "TouchstoneTesting", "module-caller", "touchstone", "touchstoned-testing",
        ]
    ),
    tests(
        "TouchstoneTests",
        [
            "KeychainClient", "KeychainModel", "SecretMemory", "Security", "Touchstone", "TouchstoneTesting",
            "WebAuthnModel", "touchstoned-testing", crypto,
        ],
        settings: modern
    ),
    // The module's variant for Apple's systems, built on our own fronts; the folder is a link to the module's.
    .target(
        name: "TouchstoneOnFronts",
        dependencies: ["CryptoKit", "LocalAuthentication", "Security"],
        path: "Tests/TouchstoneOnFronts",
        exclude: ["Touchstone/Linux", "Touchstone/Touchstone.docc"],
        swiftSettings: appleSide
    ),
    // The module's own tests, by links: `import Touchstone` means the target above here.
    .testTarget(
        name: "TouchstoneOnFrontsTests",
        dependencies: [
            "CryptoKit", "KeychainClient", "KeychainModel", "LocalAuthentication", "SecretMemory",
            "Security", "TouchstoneOnFronts", "TouchstoneTesting", "touchstoned-testing",
            crypto,
        ],
        swiftSettings: modern + [.unsafeFlags(["-module-alias", "Touchstone=TouchstoneOnFronts"])]
    ),
    // Runs the server's program, which the package in Server/ builds.
    tests(
        "TouchstoneLoginTests",
        [
            "CLinux", "KeychainClient", "KeychainModel", "LoopbackHTTP", "SecretMemory", "SignIn",
            "Touchstone", "TouchstoneLogin", "TouchstoneTesting", "WebAuthnDevice", "WebAuthnModel",
            "touchstoned-testing",
        ],
        settings: modern
    ),
    tests(
        "SecurityTests",
        [
            "CBOR", "KeychainClient", "KeychainModel", "LocalAuthentication", "ScriptedDaemon",
            "SecretMemory", "Security", "TouchstoneTesting", "touchstoned-testing", crypto,
        ]
    ),
    tests(
        "LocalAuthenticationTests",
        [
            "CBOR", "KeychainClient", "KeychainModel", "LocalAuthentication", "ScriptedDaemon",
            "SecretMemory", "Security", "TouchstoneTesting", "touchstoned-testing",
        ]
    ),
    tests(
        "CryptoKitTests",
        [
            "CryptoKit", "KeychainModel", "LocalAuthentication", "SecretMemory", "Security",
            "TouchstoneTesting", "touchstoned-testing",
        ]
    ),
    // Uses only Apple's API: Conformance/Package.swift runs the same sources elsewhere.
    .testTarget(
        name: "ConformanceTests",
        dependencies: ["LocalAuthentication", "Security", "TouchstoneTesting", "touchstoned-testing"],
        path: "Conformance/Tests/ConformanceTests"
    ),
    // Every supported public name of Apple's API, in both language modes; generated by Scripts/surface.swift.
    .testTarget(
        name: "SurfaceTests",
        dependencies: ["CoreFoundation", "CryptoKit", "LocalAuthentication", "Security"]
    ),
    .testTarget(
        name: "SurfaceSwift5Tests",
        dependencies: ["CoreFoundation", "CryptoKit", "LocalAuthentication", "Security"],
        swiftSettings: [.swiftLanguageMode(.v5)]
    ),
    // Common spellings of iOS code, in both language modes; without upcoming features, as in an app.
    .testTarget(
        name: "SecurityIdiomsTests",
        dependencies: ["LocalAuthentication", "Security", "TouchstoneTesting", "touchstoned-testing"]
    ),
    .testTarget(
        name: "SecurityIdiomsSwift5Tests",
        dependencies: ["LocalAuthentication", "Security", "TouchstoneTesting", "touchstoned-testing"],
        swiftSettings: [.swiftLanguageMode(.v5)]
    ),
    .testTarget(
        name: "ExamplesTests",
        dependencies: ["KeychainClient", "KeychainModel", "TouchstoneTesting", "touchstoned-testing"]
            + (examples + asyncExamples).map { .byName(name: $0) },
        swiftSettings: settings
    ),
]

/// The programs of Examples, and one that the tests keep running.
let apps: [Target] =
    [
        // An app that signs in to the server of Server/, whose program it needs.
        .executableTarget(
            name: "DeviceSignIn",
            dependencies: ["LoopbackHTTP", "Security", "WebAuthnDevice", "WebAuthnModel"],
            path: "Examples/DeviceSignIn",
            swiftSettings: warnings
        ),
        // The same with the module `TouchstoneLogin`.
        .executableTarget(
            name: "SignIn",
            dependencies: ["Touchstone", "TouchstoneLogin"],
            path: "Examples/SignIn",
            swiftSettings: warnings
        ),
        // An app that `Scripts/test-machine` keeps running during an upgrade and while the broker is stopped.
        .executableTarget(
            name: "LongLivedApp",
            dependencies: ["Security"],
            path: "Tests/LongLivedApp",
            swiftSettings: warnings
        ),
    ]
    // The programs of Examples/Package.swift, as apps build them.
    + examples.map { name in
        .executableTarget(
            name: name,
            dependencies: ["CryptoKit", "LocalAuthentication", "Security"],
            path: "Examples/\(name)",
            swiftSettings: warnings
        )
    }
    + asyncExamples.map { name in
        .executableTarget(
            name: name,
            dependencies: ["Touchstone"],
            path: "Examples/\(name)",
            swiftSettings: warnings
        )
    }

let package = Package(
    name: "touchstone",
    products: [
        .library(name: "Security", targets: ["Security"]),
        .library(name: "LocalAuthentication", targets: ["LocalAuthentication"]),
        .library(name: "CryptoKit", targets: ["CryptoKit"]),
        // The async API; none of its modules has a name of Apple's.
        .library(name: "Touchstone", targets: ["Touchstone"]),
        // Signing in to a server with the async API; needs Foundation's networking.
        .library(name: "TouchstoneLogin", targets: ["TouchstoneLogin", "Touchstone"]),
        .library(name: "TouchstoneTesting", targets: ["TouchstoneTesting"]),
        // The formats that a device and a server exchange; no dependencies.
        .library(name: "WebAuthnModel", targets: ["WebAuthnModel", "CBOR"]),
        .library(name: "FrequentWords", targets: ["FrequentWords"]),
        // RSA's public-key operation without padding, for endorsement keys of TPMs; no dependencies.
        .library(name: "ModularArithmetic", targets: ["ModularArithmetic"]),
        // A program's reports to its service manager; no dependencies.
        .library(name: "ServiceNotification", targets: ["ServiceNotification"]),
        // An app's side of WebAuthn, with keys that the daemon holds.
        .library(name: "WebAuthnDevice", targets: ["WebAuthnDevice", "WebAuthnModel"]),
        // The PKCS #11 module, `libtouchstone-pkcs11.so`.
        .library(name: "touchstone-pkcs11", type: .dynamic, targets: ["touchstone-pkcs11"]),
        .executable(name: "touchstone", targets: ["touchstone"]),
        .executable(name: "touchstone-agent", targets: ["touchstone-agent"]),
        .executable(name: "touchstoned", targets: ["touchstoned"]),
        // For tests of apps, which depend on it and on the test kit; never installed.
        .executable(name: "touchstoned-testing", targets: ["touchstoned-testing"]),
        .executable(name: "touchstone-with-keychain", targets: ["touchstone-with-keychain"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
        // The target `Primitives` calls the C library inside it, which guarantees neither symbol names nor where it keeps a key
        // from one version to the next. Tested with 4.5.2. Patch releases are accepted, because the known answers at a daemon's
        // start check them; a new minor version is tested first (PrimitivesTests, KeyResidueTests). No `exact:`, because then an
        // app could not use a package that requires another patch release.
        .package(url: "https://github.com/apple/swift-crypto.git", .upToNextMinor(from: "4.5.2")),
        .package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
    ],
    targets: layers.flatMap { $0.value } + tested + apps
)

// The Swift Package Index builds the documentation with this plugin; `Scripts/documentation` does not need it, and apps do not
// fetch it.
if Context.environment["SPI_GENERATE_DOCS"] != nil {
    package.dependencies.append(
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0")
    )
}

/// Targets that do not import each other, because they communicate through ports; a door may import `Desk`.
let workers = Set(
    layers.filter { ["Core", "Drivers", "Doors"].contains($0.key) }.flatMap { $0.value.map(\.name) }
)
let ranks = Dictionary(
    uniqueKeysWithValues: layers.enumerated().flatMap { rank, layer in layer.value.map { ($0.name, rank) } }
)
for target in package.targets {
    guard let rank = ranks[target.name] else { continue }
    target.path = "Sources/\(layers[rank].key)/\(target.name)"
    for case .byNameItem(let name, _) in target.dependencies {
        precondition(ranks[name, default: .max] <= rank, "\(target.name) imports \(name) of a higher layer")
        precondition(
            !workers.contains(name) || !workers.contains(target.name)
                || name == "Desk" && layers[rank].key == "Doors",
            "\(target.name) imports \(name), another worker"
        )
    }
}

#if !os(Linux)
    // On Apple's systems the frameworks are the system's own: the products are the same, but only re-export them, so that an app
    // needs one manifest for both. The targets have names of their own, because otherwise they would hide what they re-export.
    let frameworks = ["Security", "LocalAuthentication", "CryptoKit"]
    package.dependencies = []
    package.products = frameworks.map { .library(name: $0, targets: ["Apple\($0)"]) }
    package.targets = frameworks.map { .target(name: "Apple\($0)", path: "Sources/Apple/\($0)") }
    // The async API depends on them only; on Linux the same target is TouchstoneOnFronts.
    package.platforms = [.macOS(.v15), .iOS(.v18)]
    package.products.append(.library(name: "Touchstone", targets: ["Touchstone"]))
    package.targets.append(
        .target(
            name: "Touchstone",
            path: "Sources/Fronts/Touchstone",
            exclude: ["Linux"],
            swiftSettings: appleSide
        )
    )
#endif

/// Keeps only these targets of the package and their dependencies, and no products.
@MainActor
func keep(only names: [String]) {
    var needed = Set(names)
    var found = 0
    while found != needed.count {
        found = needed.count
        for target in package.targets where needed.contains(target.name) {
            for case .byNameItem(let name, _) in target.dependencies { needed.insert(name) }
        }
    }
    // Tests load the library, which no target can depend on.
    let library = "touchstone-pkcs11"
    if !needed.isDisjoint(with: ["PKCS11Tests", "SystemModeTests"]), needed.insert(library).inserted {
        return keep(only: Array(needed))
    }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products.removeAll { $0.name != library || !needed.contains(library) }
}

// Set by `Scripts/test TARGET` and `Scripts/test-sanitized` to the tests they run, so that nothing else is built.
if let tests = Context.environment["TOUCHSTONE_TESTS"]?.split(separator: " ").map(String.init) {
    // A system mode test runs the conformance suite as a user of its machine.
    keep(only: tests.contains("SystemModeTests") ? tests + ["ConformanceTests"] : tests)
}

// What `Scripts/fuzz` and `Scripts/benchmark` build, from the product's own targets; not part of any other build.
switch Context.environment["TOUCHSTONE_TOOLS"] {
case "fuzz":
    package.targets += [
        .systemLibrary(name: "CLibFuzzer", path: "Fuzz/Sources/CLibFuzzer"),
        // Three files of the daemon, with what they need alone.
        .target(
            name: "DaemonConfiguration",
            dependencies: ["Desk", "KeychainModel", .product(name: "Logging", package: "swift-log")],
            path: "Sources/Programs/TouchstoneDaemon",
            sources: ["Configuration.swift", "LockTriggers.swift", "SensorTable.swift", "Setting.swift"],
            swiftSettings: nearC
        ),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "CLibFuzzer", "CLinux", "CTSS2", "CoreFoundation", "CBOR", "SecretMemory", "KeychainModel",
                "WebAuthnModel", "Desk", "KeychainEngine", "PinentryDriver", "Primitives",
                "FingerprintDriver", "TPMDriver",
                "KeychainServer", "KeychainClient", "Security", "SSHFormat", "DaemonConfiguration",
                "TouchstoneSecrets", "SecretServiceModel", "MessageBus",
            ],
            path: "Fuzz/Sources/fuzz",
            swiftSettings: nearC,
            // The default linker fails with debug information of this size.
            linkerSettings: [.unsafeFlags(["-use-ld=lld"])]
        ),
    ]
    keep(only: ["fuzz"])
    // Everything with libFuzzer's instrumentation; Scripts/fuzz links the toolchain's libFuzzer.
    for target in package.targets where target.type != .system {
        target.swiftSettings =
            (target.swiftSettings ?? []) + [.unsafeFlags(["-sanitize=fuzzer", "-enable-testing"])]
        target.cSettings = (target.cSettings ?? []) + [.unsafeFlags(["-fsanitize=fuzzer-no-link"])]
    }
case "benchmarks":
    let sources = "Benchmarks/Sources/"
    package.targets += [
        // Apple's functions, called as an app calls them.
        .target(
            name: "AppCalls",
            dependencies: ["CoreFoundation", "Security"],
            path: sources + "AppCalls",
            swiftSettings: settings
        ),
        // The fewest TPM commands for the same work, by direct calls to the library.
        .target(name: "CTPMLimit", dependencies: ["CTSS2", "COpenSSL"], path: sources + "CTPMLimit"),
        .target(name: "CProcessors", path: sources + "CProcessors"),
        // The limit daemon, a lower bound that the daemon is measured against.
        .executableTarget(
            name: "limit-daemon",
            path: sources + "limit-daemon",
            linkerSettings: [.linkedLibrary("sqlite3"), .linkedLibrary("crypto"), .linkedLibrary("pthread")]
        ),
        .executableTarget(
            name: "touchstone-bench",
            dependencies: [
                "AppCalls", "CLinux", "CProcessors", "CTPMLimit", "KeychainClient", "KeychainModel",
                "MessageBus", "SecretMemory", "Security", "SSHFormat", "TPMDriver", "Touchstone",
                "TouchstoneTesting",
            ],
            path: sources + "touchstone-bench",
            swiftSettings: nearC
        ),
    ]
    keep(only: ["limit-daemon", "touchstone-bench"])
default: break
}
