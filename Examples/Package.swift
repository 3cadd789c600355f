// swift-tools-version: 6.2
import PackageDescription

// Programs written as for iOS and macOS: the same source builds there with the system's frameworks. The last five use the module
// Touchstone, on Linux.

/// The name that SwiftPM gives the package: the last part of its URL or path.
///
/// With `.package(url: "https://…/touchstone.git", …)` it is "touchstone"; here it is the name of the checkout's folder.
let touchstone = String(Context.packageDirectory.split(separator: "/").dropLast().last ?? "")

/// One product, which contains all four modules; the aliases keep other packages from mistaking them for Apple's.
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
    /// None of its modules has a name of Apple's, so it needs no aliases.
    let touchstoneProduct = Target.Dependency.product(name: "Touchstone", package: touchstone)
    package.targets += [
        "CapabilityWatch", "Notes", "PaymentSigner", "SealedFile", "SessionTokens",
    ].map { .executableTarget(name: $0, dependencies: [touchstoneProduct], path: $0) }
#endif
