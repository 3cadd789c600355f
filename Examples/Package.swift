// swift-tools-version: 6.2
import PackageDescription

// Programs as they are written for iOS and macOS: the same source builds there with the system's own frameworks.

let package = Package(
    name: "examples",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "touchstone", path: "..")],
    targets: [
        "AskFirst", "BiometricLock", "BiometricNote", "EnclaveSigner", "RightsStore", "TokenStore",
    ].map { name in
        .executableTarget(
            name: name,
            dependencies: ["CryptoKit", "LocalAuthentication", "Security"].map { framework in
                .product(name: framework, package: "touchstone", condition: .when(platforms: [.linux]))
            },
            path: name
        )
    }
)
