// swift-tools-version: 6.2
import PackageDescription

// The server side, a package of its own: swift-certificates cannot share a build with a module named `Security`
// of the root package (docs/ARCHITECTURE.md, section "Server").

/// `.ci/run` sets it, so that a warning fails the build there and only there.
let warnings: [SwiftSetting] =
    Context.environment["TOUCHSTONE_WARNINGS"] == "error" ? [.treatAllWarnings(as: .error)] : []
let settings: [SwiftSetting] =
    warnings + [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
    ]

let package = Package(
    name: "touchstone-server",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "WebAuthn", targets: ["WebAuthn"]),
        .library(name: "RelyingParty", targets: ["RelyingParty"]),
        .library(name: "AccountStore", targets: ["AccountStore"]),
        .library(name: "SQLiteStore", targets: ["SQLiteStore"]),
        .library(name: "PostgreSQLStore", targets: ["PostgreSQLStore"]),
    ],
    dependencies: [
        .package(name: "touchstone", path: ".."),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-certificates.git", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
    ],
    targets: [
        .target(
            name: "WebAuthn",
            dependencies: [
                .product(name: "WebAuthnModel", package: "touchstone"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ],
            swiftSettings: settings
        ),
        // What a relying party computes, without HTTP and without a store.
        .target(
            name: "RelyingParty",
            dependencies: [
                .product(name: "WebAuthnModel", package: "touchstone"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: settings
        ),
        // What servers keep and share: the operations and their records, without a database.
        .target(
            name: "AccountStore",
            dependencies: [.product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: settings
        ),
        // The operations in SQL, once for all databases.
        .target(
            name: "SQLAccountStore",
            dependencies: ["AccountStore", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: settings
        ),
        .target(
            name: "SQLiteStore",
            dependencies: [
                "AccountStore", "SQLAccountStore", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: settings
        ),
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "PostgreSQLStore",
            dependencies: ["AccountStore", "CPostgreSQL", "SQLAccountStore"],
            swiftSettings: settings
        ),
        // Writes as servers do, and says what was acknowledged, until a test kills it.
        .executableTarget(
            name: "store-writer",
            dependencies: ["AccountStore", "PostgreSQLStore", "SQLiteStore"],
            path: "Tests/store-writer",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "store-bench",
            dependencies: ["AccountStore", "PostgreSQLStore", "SQLiteStore"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "webauthn-bench",
            dependencies: [
                "WebAuthn",
                .product(name: "WebAuthnModel", package: "touchstone"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "TestVectors",
            dependencies: [.product(name: "WebAuthnModel", package: "touchstone")],
            path: "Tests/TestVectors",
            swiftSettings: settings
        ),
        .testTarget(
            name: "AccountStoreTests",
            dependencies: ["AccountStore", "PostgreSQLStore", "SQLiteStore", "store-writer"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RelyingPartyTests",
            dependencies: [
                "RelyingParty", "TestVectors",
                .product(name: "WebAuthnModel", package: "touchstone"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "WebAuthnTests",
            dependencies: [
                "TestVectors", "WebAuthn",
                .product(name: "WebAuthnModel", package: "touchstone"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: settings
        ),
    ]
)
