import Testing

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Settings that cannot work")
    struct RefusedSettingTests {
        @Test(
            "origins and relying parties with which nobody could sign in are refused by name",
            arguments: [
                ("ORIGINS", "https://App.example.org"), ("ORIGINS", "app.example.org"),
                ("ORIGINS", "app.example.org:8443"),
                ("ORIGINS", "HTTPS://app.example.org"), ("ORIGINS", "https://app.example.org/"),
                ("ORIGINS", "https://app.example.org:443"),
                ("ORIGINS", "https://a.example.org //b.example.org"),
                ("TOP_ORIGINS", "https://App.example.org"), ("TOP_ORIGINS", "app.example.org"),
                ("PUBLIC_URL", "https://192.0.2.1"), ("PUBLIC_URL", "https://[2001:db8::1]:8443"),
                ("PUBLIC_URL", "http://127.0.0.1:8080"), ("PUBLIC_URL", "https://App.example.org"),
            ]
        )
        func refused(_ name: String, _ value: String) throws {
            let fault = #expect(throws: ConfigurationFault.self) {
                try ServerConfiguration.read(file: nil, environment: ["TOUCHSTONE_SERVER_\(name)": value])
            }
            #expect(fault?.reason.isEmpty == false)
        }

        @Test("origins of pages and of apps are accepted as clients write them")
        func accepted() throws {
            let origins = [
                "https://app.example.org", "https://app.example.org:8443", "http://localhost:3000",
                "android:apk-key-hash:sx8LKDrwYN0dXVQDV8Q", "linux:app-id:org.Example.App",
            ]
            let read = try ServerConfiguration.read(
                file: nil,
                environment: ["TOUCHSTONE_SERVER_ORIGINS": origins.joined(separator: " ")]
            )
            #expect(read.acceptedOrigins == origins)
        }
    }
}
