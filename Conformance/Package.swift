// swift-tools-version: 6.2
import PackageDescription

// Apple's keychain rules as tests that use only Apple's API.
//
// On Linux the modules `Security` and `LocalAuthentication` are Touchstone's, and the tests start their own
// keychain; Touchstone's package runs the same sources as its target ConformanceTests. Here they need
// `TOUCHSTONE_BIN`, the directory of a built `touchstoned-testing`.
//
// On Apple's systems there are no dependencies: the modules are the system's. Its keychain returns
// errSecMissingEntitlement to a program without the Keychain Sharing capability, so host the tests in an app that
// has it (in Xcode: a test target of that app with these sources). `CONFORMANCE_PERSON=1` and `CONFORMANCE_GROUP`
// are explained in Support/TestKeychain.swift.

#if os(Linux)
    let dependencies: [Package.Dependency] = [.package(name: "touchstone", path: "..")]
    let modules: [Target.Dependency] = ["LocalAuthentication", "Security", "TouchstoneTesting"].map {
        .product(name: $0, package: "touchstone")
    }
#else
    let dependencies: [Package.Dependency] = []
    let modules: [Target.Dependency] = []
#endif

let package = Package(
    name: "touchstone-conformance",
    platforms: [.macOS(.v15), .iOS(.v18)],
    dependencies: dependencies,
    targets: [.testTarget(name: "ConformanceTests", dependencies: modules)]
)
