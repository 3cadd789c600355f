import Foundation
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Account page: its colour")
    struct PageColourTests {
        /// The contrast ratio of two colours `#rrggbb` (WCAG 2.2, definition of relative luminance).
        private func contrast(_ one: String, _ other: String) throws -> Double {
            func luminance(_ text: String) throws -> Double {
                let number = try #require(Int(text.dropFirst(), radix: 16))
                let parts = [number >> 16, number >> 8 & 255, number & 255].map { value in
                    let part = Double(value) / 255
                    return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4)
                }
                return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
            }
            let (a, b) = (try luminance(one) + 0.05, try luminance(other) + 0.05)
            return max(a, b) / min(a, b)
        }

        @Test("text can be read on every colour, and in every colour on the page, light and dark")
        func everyColour() throws {
            let grounds = (light: ["#f4f5f7", "#ffffff"], dark: ["#0e1115", "#181c22"])
            let style = String(decoding: PackageResources.page_css, as: UTF8.self)
            for ground in [
                "--ground: #f4f5f7", "--surface: #fff;", "--ground: #0e1115", "--surface: #181c22",
            ] {
                #expect(style.contains(ground))
            }
            let channel = Array(stride(from: 0, through: 255, by: 51))
            for red in channel {
                for green in channel {
                    for blue in channel {
                        let text = "#" + [red, green, blue].map { String(format: "%02x", $0) }.joined()
                        let colour = try #require(PageColour(text))
                        #expect(colour.text == text)
                        for (scheme, grounds) in [(colour.light, grounds.light), (colour.dark, grounds.dark)]
                        {
                            let (accent, strong) = (scheme.accent.text, scheme.strong.text)
                            for other in grounds + [scheme.soft.text, scheme.text.text] {
                                #expect(try contrast(accent, other) >= 4.5, "\(text): \(accent) \(other)")
                                #expect(try contrast(strong, other) >= 4.5, "\(text): \(strong) \(other)")
                            }
                        }
                    }
                }
            }
            // One that can be read stays as it is.
            #expect(PageColour("#0B57D0")?.light.accent.text == "#0b57d0")
            #expect(PageColour("#8ab4f8")?.dark.accent.text == "#8ab4f8")
        }

        @Test(
            "what is no colour is refused, with the form that is",
            arguments: [
                "", "#12345", "#1234567", "blue", "#gggggg", "0b57d0", "#fff", "rgb(1, 2, 3)", "#12 456",
                "#+12345",
                "#-12345", "#０b57", "#123456;}", "#0b57d0 #0b57d0",
            ]
        )
        func refused(_ value: String) throws {
            let fault = #expect(throws: ConfigurationFault.self) {
                try ServerConfiguration.read(file: nil, environment: ["TOUCHSTONE_SERVER_PAGE_COLOUR": value])
            }
            #expect(fault?.reason == "page-colour must be a colour of the form #rrggbb, such as #0b57d0")
        }

        @Test("in a file the sign of a colour begins no comment, and check-config prints what reads back")
        func file() async throws {
            try await TestServer.inDirectory { directory in
                func read(_ text: String) throws -> ServerConfiguration {
                    try TestServer.write(["server.conf": text], to: directory)
                    return try .read(
                        file: "\(directory)/server.conf",
                        environment: ["STATE_DIRECTORY": directory]
                    )
                }
                for line in [
                    "page-colour = #0B57D0", "page-colour=#0b57d0", "page-colour = #0b57d0 # blue\r",
                    "page-colour = #0b57d0\t#123456",
                ] {
                    let settings = try read("rp-name = Example # a name\n\(line)\npage-language = ja\n")
                    #expect(settings.pageColour?.text == "#0b57d0", "\(line)")
                    #expect(settings.rpName == "Example" && settings.pageLanguage == .ja)
                    let printed = try await settings.check()
                    #expect(
                        printed.contains("= #0b57d0  # file \(directory)/server.conf, line 2"),
                        "\(printed)"
                    )
                    let again = try read(printed)
                    #expect(again.pageColour == settings.pageColour && again.pageLanguage == .ja)
                }
                for line in [
                    "page-colour =", "page-colour = # blue", "page-colour = #0b57d", "page-colour = #0b57d00",
                ] {
                    #expect(throws: ConfigurationFault.self, "\(line)") { try read(line) }
                }
                // Elsewhere the sign begins a comment as before.
                #expect(try read("rp-name = Example #0b57d0").rpName == "Example")
                #expect(try read("#page-colour = #0b57d0").pageColour == nil)
                #expect(try await read("").check().contains("\n# page-colour "))
            }
        }

        @Test("the page has the colour, with a tag of its own, and its style comes from a file")
        func served() async throws {
            let plain = try PageFiles(relyingParty: "x")
            let green = try PageFiles(relyingParty: "x", colour: PageColour("#00ff00"))
            for name in ["page.css", "icon.svg"] {
                let (one, other) = (try #require(plain.asset(name)), try #require(green.asset(name)))
                #expect(one.tag != other.tag && one.bytes != other.bytes, "\(name)")
            }
            for colour in ["#ffd400", "#003300", "#7f7f7f"] {
                let expected = try #require(PageColour(colour))
                try await TestServer.with {
                    $0.pageColour = expected
                } _: { server in
                    let user = try await TestUser.make(on: server)
                    try await Browser.with(server) { page in
                        try await page.signIn(user)
                        for (name, scheme) in [("light", expected.light), ("dark", expected.dark)] {
                            try await page.prefer(name)
                            let style = "getComputedStyle(document.querySelector('#add-passkey'))"
                            let accent = scheme.accent
                            let (red, green, blue) = (Int(accent.red), Int(accent.green), Int(accent.blue))
                            #expect(
                                try await page.value("\(style).backgroundColor").string
                                    == "rgb(\(red), \(green), \(blue))"
                            )
                            #expect(try await PageAudit.contrastFaults(page) == [], "\(colour) \(name)")
                            try await PageAudit.picture(page, "colour-\(colour.dropFirst())-\(name)")
                        }
                    }
                }
            }
        }
    }
}
