// swift-tools-version: 6.2
import PackageDescription

// A TLS server whose key's passphrase is in the keychain, built together with common server packages.
//
// SwiftPM puts the modules of all packages of a build into one folder. On Linux, packages that test
// `#if canImport(Security)` would mistake Touchstone's modules for Apple's. Module aliases therefore give Touchstone's
// modules other names on disk. Sources still say `import Security`.

/// The name that SwiftPM gives the package: the last part of its URL or path.
///
/// Under any other name the aliases are not applied. With `.package(url: "https://…/touchstone.git", …)` it is
/// "touchstone"; here it is the name of the checkout's folder.
let touchstone = String(Context.packageDirectory.split(separator: "/").dropLast(2).last ?? "")

/// One product, which contains all four modules; with aliases on two products, sources find none of the modules.
let keychain = Target.Dependency.product(
    name: "CryptoKit",
    package: touchstone,
    moduleAliases: [
        "Security": "TouchstoneSecurity", "LocalAuthentication": "TouchstoneLocalAuthentication",
        "CryptoKit": "TouchstoneCryptoKit", "CoreFoundation": "TouchstoneCoreFoundation",
    ],
    condition: .when(platforms: [.linux])
)

let package = Package(
    name: "neighbours",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(path: "../.."),
        .package(url: "https://github.com/apple/swift-asn1.git", exact: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates.git", exact: "1.21.1"),
        .package(url: "https://github.com/apple/swift-nio.git", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", exact: "2.37.6"),
        .package(url: "https://github.com/swift-server/async-http-client.git", exact: "1.37.0"),
    ],
    targets: [
        // A library that depends on the product, used by two programs that depend on it too.
        .target(name: "Passphrases", dependencies: [keychain]),
        .executableTarget(
            name: "Neighbours",
            dependencies: [
                "Passphrases", keychain,
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ]
        ),
        .executableTarget(name: "Keeper", dependencies: ["Passphrases", keychain]),
    ]
)
