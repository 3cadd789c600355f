// swift-tools-version: 6.2
import PackageDescription

// For fuzzing alone: everything here is built with libFuzzer's instrumentation, by Scripts/fuzz, which also links the
// toolchain's libFuzzer. The library targets are symbolic links to the product's own sources.

let instrumentation: [SwiftSetting] = [.unsafeFlags(["-sanitize=fuzzer", "-enable-testing"])]
let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
    ] + instrumentation
let nearC = settings + [.strictMemorySafety()]
let c: [CSetting] = [.unsafeFlags(["-fsanitize=fuzzer-no-link"])]

let package = Package(
    name: "touchstone-fuzz",
    dependencies: [
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
    ],
    targets: [
        .target(name: "CLinux", cSettings: c),
        .target(name: "CItemFiles", cSettings: c, linkerSettings: [.linkedLibrary("sqlite3")]),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CTSS2", pkgConfig: "tss2-esys", providers: [.apt(["libtss2-dev"])]),
        .systemLibrary(name: "CLibFuzzer"),
        .target(name: "SecretMemory", dependencies: ["CLinux"], swiftSettings: nearC),
        .target(name: "CBOR", swiftSettings: nearC),
        .target(name: "Threads", swiftSettings: nearC),
        .target(name: "WebAuthnModel", dependencies: ["CBOR"], swiftSettings: settings),
        .target(
            name: "KeychainModel",
            dependencies: ["SecretMemory", "CBOR", "WebAuthnModel"],
            swiftSettings: nearC
        ),
        .target(
            name: "KeychainEngine",
            dependencies: [
                "CItemFiles", "CLinux", "KeychainModel", "SecretMemory", "CBOR",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: nearC
        ),
        .target(
            name: "FingerprintDriver",
            dependencies: ["CSystemd", "CLinux", "KeychainModel", "Threads"],
            swiftSettings: nearC
        ),
        .target(
            name: "TPMDriver",
            dependencies: [
                "CLinux", "CTSS2", "CBOR", "KeychainModel", "SecretMemory", "Threads", "WebAuthnModel",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: nearC
        ),
        .target(
            name: "PinentryDriver",
            dependencies: ["CLinux", "KeychainModel", "SecretMemory", "Threads"],
            swiftSettings: nearC
        ),
        .target(
            name: "KeychainServer",
            dependencies: [
                "CLinux", "KeychainModel", "SecretMemory", "CBOR", "Threads",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: nearC
        ),
        .target(
            name: "KeychainClient",
            dependencies: ["CLinux", "KeychainModel", "SecretMemory", "CBOR"],
            swiftSettings: nearC
        ),
        .target(name: "CoreFoundation", swiftSettings: settings),
        .target(
            name: "Security",
            dependencies: [
                "CoreFoundation", "KeychainClient", "KeychainModel", "SecretMemory",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ],
            swiftSettings: settings
        ),
        // Two files of the daemon, without all that it is made of.
        .target(
            name: "DaemonConfiguration",
            dependencies: [.product(name: "Logging", package: "swift-log")],
            swiftSettings: nearC
        ),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "CLibFuzzer", "CLinux", "CTSS2", "CoreFoundation", "CBOR", "SecretMemory", "KeychainModel",
                "WebAuthnModel",
                "KeychainEngine", "PinentryDriver",
                "FingerprintDriver", "TPMDriver", "KeychainServer", "KeychainClient", "Security",
                "DaemonConfiguration",
            ],
            swiftSettings: nearC,
            // The default linker stops at debug information of this size.
            linkerSettings: [.unsafeFlags(["-use-ld=lld"])]
        ),
    ]
)
