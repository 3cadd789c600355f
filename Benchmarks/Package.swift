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
    targets: [
        .target(name: "CLinux"),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .target(name: "SecretMemory", dependencies: ["CLinux"], swiftSettings: nearC),
        .target(name: "CBOR", swiftSettings: nearC),
        .target(name: "Threads", swiftSettings: nearC),
        .target(name: "KeychainModel", dependencies: ["SecretMemory", "CBOR"], swiftSettings: nearC),
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
            ],
            swiftSettings: nearC
        ),

        .executableTarget(
            name: "limit-daemon",
            linkerSettings: [.linkedLibrary("sqlite3"), .linkedLibrary("crypto"), .linkedLibrary("pthread")]
        ),
        .executableTarget(
            name: "touchstone-bench",
            dependencies: ["CLinux", "KeychainClient", "KeychainModel", "SecretMemory", "TouchstoneTesting"],
            swiftSettings: nearC
        ),
    ]
)
