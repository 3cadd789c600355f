internal import Crypto
internal import HTTPTypes
internal import Hummingbird

/// The files of the account page.
///
/// They are compiled in, so that only the program must be installed, and serves files of its own version.
struct PageFiles: Sendable {
    /// The language of visitors who chose none; nil: their browser's.
    let language: PageLanguage?
    private let pages: [PageLanguage: File]
    private let assets: [String: File]

    /// A file, ready to be served.
    struct File: Sendable {
        let type: String
        let bytes: [UInt8]
        /// The ETag, which changes with the bytes.
        let tag: String
        /// The language, of a file that there is in several.
        let language: PageLanguage?

        init(_ type: String, _ bytes: [UInt8], language: PageLanguage? = nil) {
            self.type = type
            self.bytes = bytes
            self.language = language
            tag = "\"\(Array(SHA256.hash(data: bytes)).prefix(16).hexadecimal)\""
        }
    }

    /// Prepares the files.
    ///
    /// - Parameters:
    ///   - relyingParty: its display name.
    ///   - selfRegistration: whether people can make accounts for themselves.
    ///   - language: the language of visitors who chose none; nil: their browser's.
    ///   - colour: the colour of buttons; nil: the page's own.
    /// - Throws: ``PageTexts/Missing`` for a text that is not there, which is a defect.
    init(
        relyingParty: String,
        selfRegistration: Bool = false,
        language: PageLanguage? = nil,
        colour: PageColour? = nil
    ) throws {
        self.language = language
        let script = "text/javascript; charset=utf-8"
        let style = Array((colour?.style ?? "").utf8)
        var assets = [
            "page.css": File("text/css; charset=utf-8", PackageResources.page_css + style),
            "icon.svg": File("image/svg+xml", Self.icon(colour)),
            "page.js": File(script, PackageResources.page_js),
            "account.js": File(script, PackageResources.account_js),
            "sign-in.js": File(script, PackageResources.sign_in_js),
            "registration.js": File(script, PackageResources.registration_js),
            "recovery.js": File(script, PackageResources.recovery_js),
            "own.js": File(script, PackageResources.own_js),
            "transactions.js": File(script, PackageResources.transactions_js),
            "passkeys.js": File(script, PackageResources.passkeys_js),
            "api.js": File(script, PackageResources.api_js),
            "dialogs.js": File(script, PackageResources.dialogs_js),
            "language.js": File(script, PackageResources.language_js),
            "words.js": File(script, PackageResources.words_js),
        ]
        let html = String(decoding: PackageResources.index_html, as: UTF8.self)
        var pages: [PageLanguage: File] = [:]
        for language in PageLanguage.allCases {
            assets[language.module] = File(script, Self.module(of: language))
            let page = try PageTexts(module: Self.module(of: language)).page(
                html,
                [
                    "language": language.tag, "texts": language.module, "service": relyingParty,
                    "self-registration": selfRegistration ? "on" : "off",
                ]
            )
            pages[language] = File("text/html; charset=utf-8", Array(page.utf8), language: language)
        }
        self.pages = pages
        self.assets = assets
    }

    /// The texts of a language, as a module for scripts.
    static func module(of language: PageLanguage) -> [UInt8] {
        switch language {
        case .english: PackageResources.en_js
        case .turkish: PackageResources.tr_js
        case .chinese: PackageResources.zh_js
        case .japanese: PackageResources.ja_js
        }
    }

    /// The icon, in the colour of the light page's buttons.
    private static func icon(_ colour: PageColour?) -> [UInt8] {
        guard let colour else { return PackageResources.icon_svg }
        let icon = String(decoding: PackageResources.icon_svg, as: UTF8.self)
        return Array(icon.replacing("#0b57d0", with: colour.light.accent.text).utf8)
    }

    /// The HTML page in a language, with the relying party's name.
    func page(in language: PageLanguage) -> File? { pages[language] }

    /// The names of all files besides the page.
    var names: [String] { assets.keys.sorted() }

    /// A file of the page; nil: it does not exist.
    func asset(_ name: String) -> File? { assets[name] }
}
