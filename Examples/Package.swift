// swift-tools-version: 6.2
import PackageDescription

// Programs as they are written for iOS and macOS: the same source builds there with the system's own frameworks. The last five
// are of the module Touchstone, on Linux.

/// The name by which SwiftPM knows the package: the last part of its address or path.
///
/// With `.package(url: "https://…/touchstone.git", …)` it is "touchstone"; here it is the name of the checkout's folder.
let touchstone = String(Context.packageDirectory.split(separator: "/").dropLast().last ?? "")

/// One product, which brings the modules of all; under other names on disk, or other packages take them for Apple's.
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
    name: "examples",
    platforms: [.macOS(.v13)],
    dependencies: [.package(path: "..")],
    targets: [
        "AskFirst", "BiometricLock", "BiometricNote", "EnclaveSigner", "RightsStore", "TokenStore",
    ].map { .executableTarget(name: $0, dependencies: [keychain], path: $0) }
)

#if os(Linux)
    /// No module of it has a name of Apple's, so it needs no aliases.
    let touchstoneProduct = Target.Dependency.product(name: "Touchstone", package: touchstone)
    package.targets += [
        "CapabilityWatch", "Notes", "PaymentSigner", "SealedFile", "SessionTokens",
    ].map { .executableTarget(name: $0, dependencies: [touchstoneProduct], path: $0) }
#endif
