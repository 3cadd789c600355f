import ArgumentParser
import Glibc
import KeychainModel
import SecretMemory

/// `touchstone inject`: replace the references in a template by secrets.
struct InjectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inject",
        abstract: "Replace the references in a template by their secrets.",
        discussion: """
            A reference is touchstone://NAME, or {{ touchstone://NAME }}, which a name with blanks needs; %20 and its \
            like work in both; NAME?field=user is a field of it. All secrets are released in one go. A file that is written is readable by its owner \
            alone, and appears whole or not at all.

              touchstone inject --in-file app.conf.tpl --out-file app.conf
            """
    )

    @Option(
        name: [.customShort("i"), .customLong("in-file")],
        help: "The template; standard input otherwise.",
        completion: .file()
    )
    var template = "-"

    @Option(
        name: [.customShort("o"), .customLong("out-file")],
        help: "Where to write, with mode 0600; standard output otherwise.",
        completion: .file()
    )
    var outFile: String?

    @Flag(help: "Replace an existing file.")
    var replace = false

    @Flag(help: "Write to standard output also when it is a terminal.")
    var show = false

    func validate() throws {
        guard outFile != nil || !replace else { throw ValidationError("--replace goes with --out-file") }
    }

    func run() throws {
        guard outFile != nil || show || isatty(STDOUT_FILENO) == 0 else {
            throw CommandError(
                "standard output is a terminal; the secrets would stay on the screen",
                hint: "pipe it, name a file with --out-file, or say --show"
            )
        }
        let octets = try PlainFile.read(template, upTo: 1 << 20)
        let parsed: SecretTemplate
        do throws(ValidationError) {
            parsed = try SecretTemplate(octets[...])
        } catch {
            throw CommandError("\(template == "-" ? "the template" : template): \(error.message)")
        }
        // Before the user is prompted.
        let file = try outFile.map { path throws(CommandError) in try PrivateFile(path, replaces: replace) }
        let secrets = try ReleasedSecrets(parsed.secrets) { names in "Put \(names) into a file or a pipe." }
        var buffer = try CommandMemory.buffer(octets.count)
        parsed.render(secrets, to: &buffer)
        let text = try CommandMemory.finish(buffer)
        if let file {
            try file.write(text)
        } else {
            try unsafe text.withUnsafeBytes { octets throws(CommandError) in try unsafe Output.write(octets) }
        }
    }
}
