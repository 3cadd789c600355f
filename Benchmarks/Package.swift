// swift-tools-version: 6.2
import PackageDescription

// For benchmarks alone: the limit that the daemon is measured beside, a prompt that answers by itself, and the harness.
// The library targets are symbolic links to the product's own sources, so that nothing heavy is built twice.

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]
let nearC = settings + [.strictMemorySafety()]

let package = Package(
    name: "touchstone-benchmarks",
    dependencies: [
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
    ],
    targets: [
        .target(name: "CLinux"),
        .target(
            name: "COpenSSL",
            // The linker does not export what it thinks no library asks for.
            linkerSettings: [
                .unsafeFlags([
                    "-Xlinker", "--export-dynamic-symbol=OSSL_LIB_CTX_new",
                    "-Xlinker", "--export-dynamic-symbol=OSSL_LIB_CTX_free",
                ])
            ]
        ),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CTSS2", pkgConfig: "tss2-esys", providers: [.apt(["libtss2-dev"])]),
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
            name: "FingerprintDriver",
            dependencies: ["CSystemd", "CLinux", "KeychainModel", "Threads"],
            swiftSettings: nearC
        ),
        .target(
            name: "KeychainClient",
            dependencies: ["CLinux", "KeychainModel", "SecretMemory", "CBOR"],
            swiftSettings: nearC
        ),
        .target(
            name: "TouchstoneTesting",
            dependencies: [
                "CLinux", "CSystemd", "FingerprintDriver", "KeychainClient", "KeychainModel", "SecretMemory",
                "Security",
            ],
            swiftSettings: nearC
        ),

        .target(
            name: "TPMDriver",
            dependencies: [
                "CLinux", "CTSS2", "COpenSSL", "CBOR", "KeychainModel", "SecretMemory", "Threads",
                "WebAuthnModel",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
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

        // Apple's functions as an app calls them.
        .target(name: "AppCalls", dependencies: ["CoreFoundation", "Security"], swiftSettings: settings),
        // The fewest commands of a TPM for the same work, straight to the library.
        .target(name: "CTPMLimit", dependencies: ["CTSS2", "COpenSSL"]),
        .target(name: "CProcessors"),
        .executableTarget(
            name: "limit-daemon",
            linkerSettings: [.linkedLibrary("sqlite3"), .linkedLibrary("crypto"), .linkedLibrary("pthread")]
        ),
        .executableTarget(
            name: "touchstone-bench",
            dependencies: [
                "AppCalls", "CLinux", "CProcessors", "CTPMLimit", "KeychainClient", "KeychainModel",
                "SecretMemory", "Security", "TPMDriver", "TouchstoneTesting",
            ],
            swiftSettings: nearC
        ),
    ]
)
