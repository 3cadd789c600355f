import Foundation
import HTTPTypes
import NIOHTTP1
import RelyingParty
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Account page: its language")
    struct PageLanguageTests {
        /// What a visitor of one language reads on the main path.
        struct Visitor: Sendable, CustomTestStringConvertible {
            let language: PageLanguage
            /// The browser's languages.
            let accepted: String
            let title: String
            let passkey: String
            let noUsername: String
            let wrong: String
            let label: String
            let added: String
            let weak: String
            let remove: String
            let now: String
            let signedOut: String

            var testDescription: String { language.rawValue }
        }

        static let visitors = [
            Visitor(
                language: .english,
                accepted: "fr-FR,en-GB,tr",
                title: "Your account – Örnek",
                passkey: "Sign in with a passkey",
                noUsername: "Enter your user name.",
                wrong: "User name and password do not go together. Check both, and try again.",
                label: "Passkey from Chrome on Linux",
                added: "The passkey was added. Give it a name that you will recognise.",
                weak: "Choose another password: at least 8 characters.",
                remove: "Remove Passkey from Chrome on Linux?",
                now: "Never used · added just now",
                signedOut: "You are signed out."
            ),
            Visitor(
                language: .turkish,
                accepted: "tr-TR,tr,en-US,en",
                title: "Hesabınız – Örnek",
                passkey: "Geçiş anahtarıyla oturum aç",
                noUsername: "Kullanıcı adınızı girin.",
                wrong:
                    "Kullanıcı adı ve parola birbiriyle eşleşmiyor. İkisini de denetleyip yeniden deneyin.",
                label: "Geçiş anahtarı (Linux üzerinde Chrome)",
                added: "Geçiş anahtarı eklendi. Tanıyabileceğiniz bir ad verin.",
                weak: "Başka bir parola seçin: En az 8 karakter olmalı.",
                remove: "Kaldırılsın mı: Geçiş anahtarı (Linux üzerinde Chrome)",
                now: "Hiç kullanılmadı · eklenme: az önce",
                signedOut: "Oturumunuz kapatıldı."
            ),
            Visitor(
                language: .chinese,
                accepted: "zh-CN,zh,en",
                title: "您的账户 – Örnek",
                passkey: "使用通行密钥登录",
                noUsername: "请输入您的用户名。",
                wrong: "用户名与密码不匹配。请检查后重试。",
                label: "通行密钥（Linux 上的 Chrome）",
                added: "已添加通行密钥。请为它取一个便于识别的名称。",
                weak: "请选择其他密码：至少需要 8 个字符。",
                remove: "要移除“通行密钥（Linux 上的 Chrome）”吗？",
                now: "从未使用 · 添加时间：刚刚",
                signedOut: "您已退出登录。"
            ),
            Visitor(
                language: .japanese,
                accepted: "fr,de,ja,en",
                title: "アカウント – Örnek",
                passkey: "パスキーでサインイン",
                noUsername: "ユーザー名を入力してください。",
                wrong: "ユーザー名とパスワードが一致しません。両方を確認して、もう一度お試しください。",
                label: "パスキー（Linux の Chrome）",
                added: "パスキーを追加しました。わかりやすい名前を付けてください。",
                weak: "別のパスワードを選んでください：8 文字以上が必要です。",
                remove: "「パスキー（Linux の Chrome）」を削除しますか？",
                now: "未使用 · 追加：たった今",
                signedOut: "サインアウトしました。"
            ),
        ]

        /// Looks at a state of the page in wide and narrow windows, light and dark: all fits, can be read and is in the visitor's
        /// language.
        private func look(_ page: Browser, _ visitor: Visitor, _ state: String) async throws {
            for scheme in ["light", "dark"] {
                try await page.prefer(scheme)
                #expect(try await PageAudit.contrastFaults(page) == [], "\(state), \(scheme)")
                for width in [1280, 360] {
                    #expect(
                        try await PageAudit.overflow(page, width: Int64(width)) == [],
                        "\(state), \(width)"
                    )
                    let name = "\(visitor.language.rawValue)-\(state)-\(width)-\(scheme)"
                    try await PageAudit.picture(page, name)
                }
            }
            #expect(try await PageAudit.overflow(page, width: 320, fontSize: "200%") == [], "\(state)")
            #expect(try await PageAudit.overflow(page, width: 1280) == [])
            _ = try await PageAudit.names(page)
            guard visitor.language != .english else { return }
            // Texts of the page that are in English, with what is read aloud.
            let left = try await page.value(
                """
                (async () => {
                    const own = new Set(Object.values((await import("/assets/\(visitor.language.module)")).default));
                    const english = new Set(Object.values((await import("/assets/en.js")).default));
                    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
                    const seen = [document.title.split(" – ")[0]];
                    while (walker.nextNode()) seen.push(walker.currentNode.data.trim());
                    for (const one of document.querySelectorAll("[aria-label]")) seen.push(one.ariaLabel);
                    return seen.filter((one) => english.has(one) && !own.has(one));
                })()
                """
            )
            #expect(left == [], "\(state)")
        }

        @Test(
            "the main path is in the visitor's language, and fits wide, narrow and dark",
            arguments: visitors
        )
        func path(_ visitor: Visitor) async throws {
            try await TestServer.with {
                $0.rpName = "Örnek"
                $0.selfRegistration = true
            } _: { server in
                let user = try await TestUser.make(on: server)
                try await Browser.with(server) { page in
                    func text(_ selector: String) -> String {
                        "document.querySelector('\(selector)').textContent"
                    }
                    func expect(_ selector: String, _ expected: String) async throws {
                        try await page.wait("\(text(selector)) === '\(expected)'")
                    }
                    let authenticator = try await page.addAuthenticator()
                    try await page.prefer(languages: visitor.accepted)
                    try await page.open()
                    try await page.wait(Browser.signInIsShown)
                    let language = visitor.language.tag
                    #expect(try await page.value("document.documentElement.lang").string == language)
                    try await expect("#passkey-sign-in", visitor.passkey)
                    try await look(page, visitor, "sign-in")
                    try await page.click("#sign-in-form .primary")
                    try await expect("#sign-in-error", visitor.noUsername)
                    try await page.fill("#username", user.name)
                    try await page.fill("#password", "wrong wrong")
                    try await page.click("#sign-in-form .primary")
                    try await expect("#sign-in-error", visitor.wrong)
                    try await page.click("#use-code")
                    try await look(page, visitor, "recovery")
                    try await page.click("#recover-cancel")
                    try await page.click("#create-account")
                    try await page.fill("#register-username", "berta")
                    try await page.fill("#register-password", "short")
                    try await page.press(.enter)
                    try await expect("#register-error", visitor.weak)
                    try await look(page, visitor, "register")
                    try await page.fill("#register-password", TestUser.password)
                    try await page.press(.enter)
                    try await page.wait(Browser.accountIsShown)
                    #expect(try await page.value("document.title").string == visitor.title)
                    try await look(page, visitor, "first")
                    try await page.addPasskey()
                    try await page.expectNotice(visitor.added)
                    try await expect("#credential-list .row-title", visitor.label)
                    try await expect("#credential-list .used", visitor.now)
                    // What others wrote is kept apart from the text around it.
                    try await page.click("#credential-list .remove")
                    try await expect("#confirm-title", visitor.remove)
                    try await expect("#confirm-title bdi", visitor.label)
                    try await look(page, visitor, "confirm")
                    try await page.press(.escape)
                    let made = try await server.call(
                        .POST,
                        "/v1/transactions",
                        [
                            "type": "payment", "username": "berta",
                            "details": ["payee": "Dora", "final": true, "note": .null],
                        ],
                        token: TestServer.serviceSecret
                    )
                    #expect(made.status == 201)
                    try await page.open()
                    try await page.wait("document.querySelectorAll('#transaction-list > li').length === 1")
                    try await look(page, visitor, "account")
                    for (press, dialog) in [
                        ("#credential-list .rename", "rename"), ("#change-password", "new-password"),
                        ("#make-codes", "codes"), ("#end-account", "delete-account"),
                    ] {
                        try await page.click(press)
                        try await page.wait("document.querySelector('#\(dialog)').open")
                        try await look(page, visitor, dialog)
                        try await page.press(.escape)
                        try await page.wait("!document.querySelector('#\(dialog)').open")
                    }
                    try server.ageSessions()
                    try await page.click("#add-passkey")
                    try await page.wait("document.querySelector('#step-up').open")
                    try await look(page, visitor, "step-up")
                    try await page.press(.escape)
                    // Without user presence the passkey suggested in the name field waits.
                    try await page.setPresence(false, of: authenticator)
                    try await page.click("#sign-out")
                    try await page.wait(Browser.signInIsShown)
                    try await page.expectNotice(visitor.signedOut)
                }
            }
        }

        @Test("a choice on the page is kept over a reload and a new visit, and does not use up a link")
        func choice() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.make(on: server)
                let token = try await server.link(user.id)
                try await Browser.with(server) { page in
                    func language(_ tag: String) async throws {
                        try await page.wait("document.documentElement.lang === '\(tag)'")
                    }
                    try await page.open("http://localhost:8080/#link=\(token)")
                    try await page.wait("document.querySelector('#view-link').checkVisibility()")
                    let current = "document.querySelector('#languages [aria-current=true]').value"
                    #expect(try await page.value(current) == "en")
                    try await page.tab(to: "#languages [value=ja]")
                    try await page.press(.enter)
                    try await language("ja")
                    try await page.wait("document.querySelector('#view-link')?.checkVisibility()")
                    #expect(try await page.value(current) == "ja")
                    #expect(try await page.value("location.hash") == "")
                    let cookies = try await page.cookies()
                    #expect(cookies.count == 1 && cookies[0]["name"] == "touchstone-language")
                    #expect(cookies[0]["value"] == "ja" && cookies[0]["sameSite"] == "Lax")
                    try await page.click("#link-submit")
                    try await page.wait("document.querySelector('#view-set-up').checkVisibility()")
                    try await page.send("Page.reload")
                    try await page.wait("document.querySelector('#view-set-up')?.checkVisibility()")
                    try await language("ja")
                    try await page.click("#set-up-cancel")
                    try await page.wait(Browser.signInIsShown)
                    // The session ends, the choice does not.
                    try await page.signIn(user)
                    try await language("ja")
                    try await page.click("#languages [value=en]")
                    try await language("en")
                    try await page.wait(Browser.accountIsShown)
                    // In the browser that prefers another language, too.
                    try await page.prefer(languages: "tr")
                    try await page.open()
                    try await language("en")
                    try await page.value("document.cookie = 'touchstone-language=xx; Path=/'")
                    try await page.open()
                    try await language("tr")
                }
            }
        }

        @Test(
            "the browser's first language that there is counts, by its weight",
            arguments: [
                ("", nil), ("fr", nil), ("*", "en"), ("tr", "tr"), ("TR-tr", "tr"), ("zh-Hant-TW", "zh"),
                ("zh", "zh"),
                ("fr-FR, fr;q=0.9, ja;q=0.8, tr;q=0.7", "ja"), ("en;q=0.5,tr;q=0.9", "tr"), ("ja, tr", "ja"),
                ("tr ; q=0.5 , ja ;q=0.501", "ja"), ("tr;q=0", nil), ("tr;q=0, zh;q=0.1", "zh"),
                ("fr, *;q=0.5, tr;q=0.1", "en"), ("trx, jax", nil), ("tr;q=2", nil), ("tr;q=-1", nil),
                ("tr;q=nan, ja;q=0.1", "ja"), ("tr;q=", nil), (";;,,;q=1", nil), ("tr;x=1", "tr"),
            ] as [(String, String?)]
        )
        func preferred(_ field: String, _ expected: String?) {
            #expect(PageLanguage.preferred(field)?.rawValue == expected)
        }

        @Test("a browser's list of any length takes no time")
        func longList() {
            let field = Array(repeating: "fr", count: 64).joined(separator: ",") + ",tr"
            #expect(PageLanguage.preferred(field) == nil)
            #expect(PageLanguage.preferred(String(repeating: "x", count: 60_000) + ",ja") == .japanese)
        }

        @Test("the choice counts before the setting, and that before the browser; caches are told")
        func negotiation() async throws {
            for setting in [PageLanguageSetting.auto, .zh] {
                try await TestServer.with {
                    $0.pageLanguage = setting
                } _: { server in
                    func page(_ headers: [(String, String)]) async throws -> Answer {
                        try await server.send(.GET, server.api + "/", HTTPHeaders(headers))
                    }
                    var tags: Set<String> = []
                    for (headers, language) in [
                        ([], setting == .auto ? "en" : "zh-Hans"),
                        ([("Accept-Language", "tr")], setting == .auto ? "tr" : "zh-Hans"),
                        ([("Accept-Language", "tr"), ("Cookie", "touchstone-language=ja")], "ja"),
                        ([("Cookie", "a=b; touchstone-language=tr")], "tr"),
                        // Two of them, or one of no language, are no choice.
                        (
                            [("Cookie", "touchstone-language=ja; touchstone-language=tr")],
                            setting == .auto ? "en" : "zh-Hans"
                        ),
                        ([("Cookie", "touchstone-language=<b>")], setting == .auto ? "en" : "zh-Hans"),
                    ] as [([(String, String)], String)] {
                        let answer = try await page(headers)
                        #expect(answer.text.contains("<html lang=\"\(language)\">"), "\(headers)")
                        #expect(answer.headers["Content-Language"] == [language])
                        #expect(answer.headers["Vary"] == ["Accept-Language, Cookie"])
                        let tag = try #require(answer.headers.first(name: "ETag"))
                        tags.insert(tag)
                        let again = try await page(headers + [("If-None-Match", tag)])
                        #expect(again.status == 304 && again.headers["Vary"] == ["Accept-Language, Cookie"])
                        // Another language is another answer for a cache of this one.
                        let other = language == "ja" ? "tr" : "ja"
                        let chosen = [("Cookie", "touchstone-language=\(other)"), ("If-None-Match", tag)]
                        #expect(try await page(chosen).status == 200)
                    }
                    #expect(tags.count == 3)
                    let style = try await server.call(.GET, "/assets/page.css")
                    #expect(style.headers["Vary"] == [] && style.headers["Content-Language"] == [])
                }
            }
        }

        @Test("the setting has the known languages only")
        func setting() throws {
            func read(_ value: String) throws -> ServerConfiguration {
                try .read(file: nil, environment: ["TOUCHSTONE_SERVER_PAGE_LANGUAGE": value])
            }
            for language in PageLanguageSetting.allCases {
                #expect(try read(language.rawValue).pageLanguage == language)
            }
            #expect(Set(PageLanguageSetting.allCases.compactMap(\.language)) == Set(PageLanguage.allCases))
            let fault = #expect(throws: ConfigurationFault.self) { try read("de") }
            #expect(fault?.reason == "page-language must be one of auto, en, tr, zh, ja")
        }
    }
}
