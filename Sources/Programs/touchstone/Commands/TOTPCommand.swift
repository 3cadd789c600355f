import ArgumentParser
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory

/// `touchstone totp`: the one-time codes of a secret that holds their key.
struct TOTPCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "totp",
        abstract: "Write the one-time code of a secret.",
        discussion: """
            The code that authenticator apps show (RFC 6238). Its key is a line otpauth://... of the secret, as pass-otp \
            writes it; it is not shown. --add stores it: the address or the key that the site shows, piped or typed, or \
            the site's QR code in an image. A secret that is there keeps its other lines.

              touchstone totp github
              touchstone totp github --add --qr code.png
            """
    )

    @Argument(help: ItemName.help, transform: ItemName.init(argument:))
    var name: ItemName

    @Flag(help: "Store a key, in the secret of this name or in a new one.")
    var add = false

    @Option(help: "Read the key from a file.", completion: .file())
    var fromFile: String?

    @Option(help: ArgumentHelp("Read the key from a QR code.", valueName: "image"), completion: .file())
    var qr: String?

    @Option(help: "What reading a new secret requires: finger, passcode, either or none.")
    var require = Requirement.either

    @Option(help: Readability.help)
    var when = Readability.unlocked

    @Flag(help: "Replace the secret's key.")
    var replace = false

    @OptionGroup var clipboard: ClipboardOptions

    func validate() throws {
        guard add || fromFile == nil && qr == nil && !replace else {
            throw ValidationError("--from-file, --qr and --replace go with --add")
        }
        guard fromFile == nil || qr == nil else { throw ValidationError("--from-file goes without --qr") }
        guard !add || !clipboard.copies else { throw ValidationError("--add goes without -c") }
    }

    func run() throws { try add ? store() : write() }

    private func write() throws(CommandError) {
        let clipboard = try clipboard.clipboard()
        let context = RemoteKeychain.shared.makeContextNumber()
        let secret = try StoredSecrets().read(
            name,
            reason: "Make a one-time code of '\(name.text)'.",
            context: context
        )
        let uri = try secret.withOctets { octets throws(CommandError) -> SecretBytes? in
            guard let place = SecretFields.placeOfOneTimeKey(in: octets) else { return nil }
            return try CommandMemory.copy(octets.extracting(place))
        }
        guard let uri else {
            throw CommandError(
                "'\(name.text)' has no key of one-time codes",
                hint: "touchstone totp --add \(ShellWord.argument(name.text)) stores it",
                exitCode: .notFound
            )
        }
        let key = try OneTimePassword(uri: uri)
        let now = Int64(time(nil))
        let code = try key.code(at: now)
        if let clipboard { return try clipboard.copy(code) }
        try unsafe code.withUnsafeBytes { octets throws(CommandError) in try unsafe Output.write(octets) }
        Output.print("")
        if isatty(STDOUT_FILENO) == 1 { Output.complain("valid for \(key.secondsLeft(at: now)) s") }
    }

    private func store() throws {
        let secrets = StoredSecrets()
        let rule = try require.accessControl(when.accessibility)
        let context = RemoteKeychain.shared.makeContextNumber()
        // Before anything is typed.
        let stored = try secrets.findIfThere(name, context: context)
        if let stored {
            try stored.checkHasFields()
        } else {
            try secrets.checkStorable(name, rule, isReplacing: false)
        }
        let uri = try readKey()
        _ = try OneTimePassword(uri: uri)
        guard stored != nil else {
            try secrets.add(name, uri, rule)
            return Output.complain("Stored '\(Printable.text(name.text))'.")
        }
        let secret = try secrets.read(name, reason: "Add a one-time key to '\(name.text)'.", context: context)
        let hasKey = secret.withOctets { SecretFields.placeOfOneTimeKey(in: $0) != nil }
        guard !hasKey || replace else {
            throw CommandError(
                "'\(name.text)' has a key of one-time codes",
                hint: "use --replace to replace it",
                exitCode: .existsAlready
            )
        }
        try secrets.replaceValue(name, SecretFields.settingOneTimeKey(to: uri, in: secret), context: context)
        Output.complain("Changed '\(Printable.text(name.text))'.")
    }

    /// The `otpauth` URI, as it is to be stored.
    private func readKey() throws(CommandError) -> SecretBytes {
        let text = try readText()
        guard text.count <= OneTimePassword.longest else { throw OneTimePassword.refusal("it is too long") }
        let scheme = text.withOctets { octets in
            let end = octets.indices.first { octets[$0] == UInt8(ascii: ":") } ?? 0
            return String(decoding: (0..<min(end, 32)).map { octets[$0] }, as: UTF8.self).lowercased()
        }
        switch scheme {
        case "": return try OneTimePassword.uri(ofKey: text, named: name)
        case "otpauth": return text
        case "otpauth-migration":
            throw OneTimePassword.refusal("it is an export of an app; let the app show one account's key")
        default: throw OneTimePassword.refusal("it is another address")
        }
    }

    private func readText() throws(CommandError) -> SecretBytes {
        if let qr { return try QRCode.text(ofImage: qr) }
        return try SecretInput.read(fromFile, noun: "key", ways: "--from-file FILE, --qr IMAGE") {
            terminal throws(CommandError) in
            try terminal.readSecret(
                "Key or otpauth:// address for '\(name.text)': ",
                upTo: OneTimePassword.longest
            )
        }
    }
}
