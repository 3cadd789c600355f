// swift-tools-version: 6.2
import PackageDescription

// Programs as they are written for iOS and macOS: the same source builds there with the system's own frameworks.

let package = Package(
    name: "examples",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "touchstone", path: "..")],
    targets: ["AskFirst", "BiometricNote"].map { name in
        .executableTarget(
            name: name,
            dependencies: [
                .product(
                    name: "LocalAuthentication",
                    package: "touchstone",
                    condition: .when(platforms: [.linux])
                ),
                .product(name: "Security", package: "touchstone", condition: .when(platforms: [.linux])),
            ],
            path: name
        )
    }
)
