import Foundation
import Testing
import TouchstoneTesting

@testable import TouchstoneLogin

@Suite("Proxies from the environment")
struct ProxyTests {
    @Test(
        "proxy variables for plain HTTP are read as curl does",
        arguments: [
            ([:], nil), (["http_proxy": ""], nil), (["HTTP_PROXY": "http://p:1"], nil),
            (["https_proxy": "http://p:1"], nil), (["http_proxy": "http://p:1"], "http_proxy"),
            (["all_proxy": "socks5://p:1"], "all_proxy"), (["ALL_PROXY": "p"], "ALL_PROXY"),
            (["http_proxy": "p", "no_proxy": "localhost"], nil),
            (["http_proxy": "p", "NO_PROXY": "example.org, LOCALHOST"], nil),
            (["http_proxy": "p", "no_proxy": ".localhost,x"], "http_proxy"),
            (["http_proxy": "p", "no_proxy": "*"], nil),
            (["http_proxy": "p", "no_proxy": "127.0.0.1,host"], "http_proxy"),
            (["http_proxy": "p", "no_proxy": "*,host"], "http_proxy"),
            // The first variable counts, also if it is empty.
            (["http_proxy": "p", "no_proxy": "", "NO_PROXY": "localhost"], "http_proxy"),
        ] as [([String: String], String?)]
    )
    func variables(environment: [String: String], variable: String?) {
        #expect(ProxyVariables.proxying("localhost", in: environment) == variable)
    }

    @Test(
        "a proxy never sees a password for this machine",
        arguments: [
            (["http_proxy": "*"], "http_proxy"), (["all_proxy": "*"], "all_proxy"),
            (["http_proxy": "*", "no_proxy": "localhost"], nil), (["HTTP_PROXY": "*"], nil),
        ] as [([String: String], String?)]
    )
    func unread(environment: [String: String], variable: String?) async throws {
        let (server, proxy) = (try Relay(), try Relay())
        server.script { _ in .answer(500, [:], "") }
        proxy.script { _ in .answer(500, [:], "") }
        let keychain = try await PrivateKeychain.ready()
        let app = SignInApp(relay: server, keychain: keychain)
        try keychain.tellPerson([.waits])
        let (process, _) = try await app.start(
            more: environment.mapValues { $0 == "*" ? "http://127.0.0.1:\(proxy.port)" : $0 }
        )
        _ = try await process.waitUntilEnd()
        #expect(proxy.exchanges.isEmpty)
        #expect(server.exchanges.isEmpty == (variable != nil))
        keychain.stop(with: SIGTERM)
    }
}
