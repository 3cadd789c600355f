import ArgumentParser
import KeychainClient
import KeychainModel

/// `touchstone attest`: an attestation of a key by this machine's TPM, for a server to check.
struct AttestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attest",
        abstract: "Print this machine's TPM attestation of a new key, as JSON.",
        discussion: """
            Makes a P-256 key, has the TPM's attestation key certify it, and prints what a server needs to believe it: \
            the endorsement key and its certificates, the attestation key, the key's public area with the steps of \
            its policy, the signed statement with the nonce; with --nonce also a quote of what the machine was \
            started with, PCRs 0 to 7 of SHA-256, whose digest a server can list. Octets are base64url. Without a TPM the level is \
            `software` and there is no evidence.
            """
    )

    @Option(name: .long, help: "A nonce for the attestation: at most 64 bytes in hexadecimal.")
    var nonce: String?

    @Option(name: .long, help: "What using the key requires: finger, passcode, either or none.")
    var require = Requirement.nothing

    func validate() throws { _ = try nonce.map { try Self.octets($0) } }

    func run() throws {
        let octets = try nonce.map { try Self.octets($0) } ?? []
        let keychain = RemoteKeychain.shared
        let prompt = PromptFields(origin: .current(), reason: "Have the TPM vouch for a new key.")
        let key = try keychain.makeKey(MakeKey(accessControl: try require.keyAccessControl(), prompt: prompt))
        let request = AttestKey(representation: key.representation, qualifyingData: octets, prompt: prompt)
        let attestation = try keychain.attestKey(request)
        // Without a nonce a quote would not be fresh, and without evidence there is no key that could sign it.
        let isQuoted = nonce != nil && attestation.evidence != nil
        Output.print(attestation.json(with: isQuoted ? try keychain.quoteIfAvailable(nonce: octets) : nil))
    }

    /// Parses hexadecimal bytes.
    private static func octets(_ text: String) throws -> [UInt8] {
        guard let octets = HexText.octets(text), octets.count <= AttestKey.mostQualifyingData else {
            throw ValidationError("--nonce takes an even number of hexadecimal digits, at most 128")
        }
        return octets
    }
}
