import AccountStore
import Foundation
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Account page: its texts in all languages")
    struct PageTextTests {
        private static let template = String(decoding: PackageResources.index_html, as: UTF8.self)
        /// What `{{…}}` is besides texts.
        private static let values: Set<String> = ["language", "texts", "service", "self-registration"]

        /// The texts of a language; of a text in several numbers each form.
        private func texts(_ language: PageLanguage) throws -> [String: [String: String]] {
            let module = String(decoding: PageFiles.module(of: language), as: UTF8.self)
            let json = try #require(module.firstMatch(of: /export default (\{[\s\S]*\});\n$/)?.1)
            let members = try #require(JSONValue(parsing: Array(json.utf8)).object).members
            return try Dictionary(
                uniqueKeysWithValues: members.map { key, value -> (String, [String: String]) in
                    if let text = value.string { return (key, ["": text]) }
                    let forms = try #require(value.object, "\(key)").members
                    return (
                        key, Dictionary(uniqueKeysWithValues: forms.map { ($0.name, $0.value.string ?? "") })
                    )
                }
            )
        }

        /// The page's scripts without comments, besides the texts.
        private func scripts() throws -> String {
            let files = try PageFiles(relyingParty: "")
            let tables = PageLanguage.allCases.map(\.module)
            return try files.names.filter { $0.hasSuffix(".js") && !tables.contains($0) }.map { name in
                String(decoding: try #require(files.asset(name)).bytes, as: UTF8.self)
                    .replacing(#/\/\*[\s\S]*?\*\//#, with: "").replacing(#/(?m)^\s*\/\/.*$/#, with: "")
            }.joined(separator: "\n")
        }

        private func placeholders(_ text: String) -> Set<String> {
            Set(text.matches(of: /\{([a-z]+)\}/).map { String($0.1) })
        }

        @Test(
            "every language has the same texts, with the same values in them",
            arguments: PageLanguage.allCases
        )
        func keys(_ language: PageLanguage) throws {
            let (english, texts) = (try texts(.english), try texts(language))
            #expect(Set(texts.keys).symmetricDifference(english.keys) == [])
            let numbers: Set = language == .english ? ["one", "other"] : ["other"]
            for (key, forms) in texts {
                #expect(Set(forms.keys) == [""] || Set(forms.keys) == numbers, "\(key)")
                let expected = placeholders(english[key]?.values.joined() ?? "")
                for text in forms.values {
                    #expect(
                        placeholders(text) == expected && text.count { $0 == "{" } == expected.count,
                        "\(key)"
                    )
                    #expect(!text.isEmpty && text.trimmingCharacters(in: .whitespaces) == text, "\(key)")
                    #expect(!text.contains("<") && !text.contains("&"), "\(key)")
                }
            }
            if language != .english {
                #expect(texts.filter { english[$0] == $1 }.isEmpty)
            }
        }

        @Test("every text that the page names is there, and every text is used")
        func use() throws {
            let keys = Set(try texts(.english).keys)
            let named = Set(Self.template.matches(of: #/\{\{([a-z.-]+)\}\}/#).map { String($0.1) })
            #expect(named.subtracting(keys) == Self.values)
            let scripts = try scripts()
            let literals = Set(scripts.matches(of: /"([A-Za-z_.-]+)"/).map { String($0.1) })
            for literal in literals
            where literal.contains(#/^[a-z]+(-[a-z]+)*\.[a-z]/#) && literal != "account.json" {
                #expect(keys.contains(literal), "\(literal)")
            }
            for call in scripts.matches(of: #/\b(?:text|nodes|has)\("([^"]+)"/#) {
                #expect(keys.contains(String(call.1)), "\(call.0)")
            }
            for call in scripts.matches(of: #/\b(?:text|nodes)\([^("`]* \? "([^"]+)" : "([^"]+)"/#) {
                #expect(keys.contains(String(call.1)) && keys.contains(String(call.2)), "\(call.0)")
            }
            for call in scripts.matches(of: #/\baround\(find\("[^"]+"\), "([^"]+)"\)/#) {
                #expect(keys.contains(String(call.1)), "\(call.0)")
            }
            // Texts that are found by a code of the server.
            let families = Set(scripts.matches(of: #/`([a-z.-]+\.)\$\{/#).map { String($0.1) })
            for family in families { #expect(keys.contains { $0.hasPrefix(family) }, "\(family)") }
            let unused = keys.subtracting(named).subtracting(literals).filter { key in
                !families.contains { key.hasPrefix($0) }
            }
            #expect(unused == [])
        }

        @Test("texts that are found by a code are those of the server's codes")
        func codes() throws {
            let keys = try texts(.english).keys
            func family(_ name: String) -> Set<String> {
                Set(keys.filter { $0.hasPrefix("\(name).") }.map { String($0.dropFirst(name.count + 1)) })
            }
            #expect(family("problem").subtracting(Problem.Code.allCases.map(\.rawValue)) == ["unreachable"])
            #expect(family("rule") == Set(PasswordRule.allCases.map(\.rawValue)))
            let states = Set(Transaction.Status.allCases.map(\.rawValue))
            #expect(family("transaction-state") == states.subtracting(["pending"]))
            let reasons = Set(Credential.Suspension.allCases.map(\.rawValue))
            #expect(family("suspension") == reasons.subtracting(["administrator"]).union(["other"]))
            #expect(family("refused") == ["password", "passkey", "transaction"])
            #expect(family("authentication.hardware") == ["text", "fpt", "face", "pin"])
            #expect(family("authentication.passkey") == ["text", "fpt", "face", "pin"])
        }

        @Test("no text is in the page or in a script itself, besides the names of the languages")
        func elsewhere() throws {
            let names = ["English", "Türkçe", "简体中文", "日本語"]
            let bare = Self.template.replacing(#/<[^>]*>/#, with: "\n").replacing(#/\{\{[^}]*\}\}/#, with: "")
            let words = bare.split(whereSeparator: { $0.isWhitespace }).map(String.init)
            #expect(words.filter { $0.contains(where: \.isLetter) } == names)
            for match in Self.template.matches(of: #/(?:aria-label|title|placeholder|alt|content)="([^"]*)"/#)
            {
                let isText = match.1.contains(#/^(\{\{[a-z.-]+\}\}|)$/#)
                #expect(isText || match.0.hasPrefix("content="), "\(match.0)")
            }
            let scripts = try scripts()
            for match in scripts.matches(of: /["`]([A-Z][a-z]+[ .!?…][^"`]*)["`]/) {
                Issue.record("\(match.0)")
            }
            // Upper case by the browser would take `i` for the wrong letter in Turkish.
            #expect(!String(decoding: PackageResources.page_css, as: UTF8.self).contains("text-transform"))
        }

        @Test("a text that is not there is an error when the server starts, not an empty place")
        func missing() throws {
            let module = Array("export default {\"a\": \"1 < {service}\"};\n".utf8)
            let texts = try PageTexts(module: module)
            let page = try texts.page("<p>{{a}}</p>{{service}}", ["service": "A & {{a}}"])
            #expect(page == "<p>1 &lt; A &amp; {{a}}</p>A &amp; {{a}}")
            #expect(throws: PageTexts.Missing(key: "b")) { try texts.page("{{a}} {{b}}", [:]) }
            for text in ["", "export default", "{", "}{", "{\"a\": }", "{\"a\": \"1\", \"a\": \"2\"}"] {
                #expect(throws: PageTexts.Missing(key: ""), "\(text)") {
                    try PageTexts(module: Array(text.utf8))
                }
            }
        }
    }
}
