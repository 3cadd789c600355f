internal import Crypto
internal import HTTPTypes
internal import Hummingbird

/// The files of the account page.
///
/// They are compiled in, so that only the program must be installed, and serves files of its own version.
struct PageFiles: Sendable {
    /// The HTML page, with the relying party's name inserted.
    let page: File
    private let assets: [String: File]

    /// A file, ready to be served.
    struct File: Sendable {
        let type: String
        let bytes: [UInt8]
        /// The ETag, which changes with the bytes.
        let tag: String

        init(_ type: String, _ bytes: [UInt8]) {
            self.type = type
            self.bytes = bytes
            tag = "\"\(Array(SHA256.hash(data: bytes)).prefix(16).hexadecimal)\""
        }
    }

    /// Prepares the files.
    ///
    /// - Parameters:
    ///   - relyingParty: its display name.
    ///   - selfRegistration: whether people can make accounts for themselves.
    init(relyingParty: String, selfRegistration: Bool = false) {
        let html = String(decoding: PackageResources.index_html, as: UTF8.self)
        page = File(
            "text/html; charset=utf-8",
            Array(
                html.replacing("{{self-registration}}", with: selfRegistration ? "on" : "off")
                    .replacing("{{relying-party}}", with: Self.escaped(relyingParty)).utf8
            )
        )
        let script = "text/javascript; charset=utf-8"
        assets = [
            "page.css": File("text/css; charset=utf-8", PackageResources.page_css),
            "icon.svg": File("image/svg+xml", PackageResources.icon_svg),
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
            "words.js": File(script, PackageResources.words_js),
        ]
    }

    /// The names of all files besides the page.
    var names: [String] { assets.keys.sorted() }

    /// A file of the page; nil: it does not exist.
    func asset(_ name: String) -> File? { assets[name] }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}
