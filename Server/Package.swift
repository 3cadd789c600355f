// swift-tools-version: 6.2
import PackageDescription

// The server, a separate package: swift-certificates cannot be built together with the root package's module
// `Security` (docs/ARCHITECTURE.md, section "Neighbours").

/// Set by `.ci/run`, so that a warning fails the build there and only there.
let warnings: [SwiftSetting] =
    Context.environment["TOUCHSTONE_WARNINGS"] == "error" ? [.treatAllWarnings(as: .error)] : []
let settings: [SwiftSetting] =
    warnings + [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
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
        .library(name: "TouchstoneServer", targets: ["TouchstoneServer"]),
        // The app's side: `TouchstoneLogin` of the root package with async-http-client.
        .library(name: "TouchstoneLoginAsyncHTTP", targets: ["TouchstoneLoginAsyncHTTP"]),
        // A service's side: verifies access tokens that clients show.
        .library(name: "ResourceServer", targets: ["ResourceServer"]),
        .executable(name: "touchstone-server", targets: ["touchstone-server"]),
    ],
    dependencies: [
        .package(name: "touchstone", path: ".."),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-certificates.git", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.25.0"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.5.1"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.36.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.34.1"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.11.0"),
        .package(url: "https://github.com/vapor/jwt-kit.git", from: "5.7.1"),
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
        // A relying party's computations, without HTTP and without a store.
        .target(
            name: "RelyingParty",
            dependencies: [
                "SecureRandom",
                .product(name: "ModularArithmetic", package: "touchstone"),
                .product(name: "WebAuthnModel", package: "touchstone"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: settings
        ),
        .target(name: "SecureRandom", swiftSettings: settings),
        // The operations and records of the store that servers share, independent of a database.
        .target(
            name: "AccountStore",
            dependencies: ["SecureRandom", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: settings
        ),
        // The operations in SQL, shared by all databases.
        .target(
            name: "SQLAccountStore",
            dependencies: [
                "AccountStore", "SecureRandom", .product(name: "Crypto", package: "swift-crypto"),
            ],
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
        // Writes as a server does, and prints what was acknowledged, until a test kills it.
        .executableTarget(
            name: "store-writer",
            dependencies: ["AccountStore", "PostgreSQLStore", "SQLiteStore"],
            path: "Tests/store-writer",
            swiftSettings: settings
        ),
        .systemLibrary(name: "CArgon2", pkgConfig: "libargon2", providers: [.apt(["libargon2-dev"])]),
        .systemLibrary(name: "CCrypt", pkgConfig: "libxcrypt", providers: [.apt(["libcrypt-dev"])]),
        // Password hashes of other programs, verified by the libraries of their schemes.
        .target(
            name: "ImportedPasswords",
            dependencies: [
                "CArgon2", "CCrypt", "RelyingParty", .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings
        ),
        // The HTTP service: configuration, routes, errors, metrics.
        .target(
            name: "TouchstoneServer",
            dependencies: [
                "AccountStore", "ImportedPasswords", "PostgreSQLStore", "RelyingParty", "SQLiteStore",
                "SecureRandom", "WebAuthn",
                .product(name: "FrequentWords", package: "touchstone"),
                .product(name: "WebAuthnModel", package: "touchstone"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOExtras", package: "swift-nio-extras"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            // Embedded, so that only the program has to be installed.
            resources: [.embedInCode("Page/Files")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "touchstone-server",
            dependencies: [
                "TouchstoneServer",
                .product(name: "ServiceNotification", package: "touchstone"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "ResourceServer",
            dependencies: [
                "RelyingParty",
                .product(name: "WebAuthnModel", package: "touchstone"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOFoundationCompat", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "TouchstoneLoginAsyncHTTP",
            dependencies: [
                .product(name: "TouchstoneLogin", package: "touchstone"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "store-bench",
            dependencies: ["AccountStore", "PostgreSQLStore", "RelyingParty", "SQLiteStore"],
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
        // A PostgreSQL server of its own.
        .target(name: "StoreTestKit", path: "Tests/StoreTestKit", swiftSettings: settings),
        .testTarget(
            name: "AccountStoreTests",
            dependencies: ["AccountStore", "PostgreSQLStore", "SQLiteStore", "StoreTestKit", "store-writer"],
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
            name: "ImportedPasswordsTests",
            dependencies: ["ImportedPasswords"],
            swiftSettings: settings
        ),
        // An authenticator, its manufacturer, and a TPM, all in software.
        .target(
            name: "WebAuthnTestKit",
            dependencies: [
                "WebAuthn",
                .product(name: "WebAuthnModel", package: "touchstone"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            path: "Tests/WebAuthnTestKit",
            swiftSettings: settings
        ),
        .testTarget(
            name: "TouchstoneServerTests",
            dependencies: [
                "AccountStore", "PostgreSQLStore", "RelyingParty", "ResourceServer", "StoreTestKit",
                "TouchstoneServer",
                "WebAuthn",
                "WebAuthnTestKit", "touchstone-server",
                .product(name: "WebAuthnModel", package: "touchstone"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: settings
        ),
        // Tests both transports against the same peers.
        .testTarget(
            name: "TouchstoneLoginAsyncHTTPTests",
            dependencies: [
                "TouchstoneLoginAsyncHTTP", "WebAuthnTestKit",
                .product(name: "TouchstoneLogin", package: "touchstone"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "WebAuthnTests",
            dependencies: [
                "WebAuthnTestKit", "TestVectors", "WebAuthn",
                .product(name: "WebAuthnModel", package: "touchstone"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: settings
        ),
    ]
)
