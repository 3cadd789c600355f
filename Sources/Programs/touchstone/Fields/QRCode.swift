import Glibc
import KeychainModel
import SecretMemory

/// Texts of QR codes, read by zbarimg of the ZBar library, a program of its own: an image is the work of others.
enum QRCode {
    private static let program = "zbarimg"
    /// More than the codes of an image that somebody took of a screen; one code has at most 7,089 characters.
    private static let longestOutput = 1 << 16

    /// The text of the one QR code in an image.
    ///
    /// - Throws: ``CommandError`` if there is none or more than one, or if the program is not installed.
    static func text(ofImage path: String) throws(CommandError) -> SecretBytes {
        guard unsafe access(path, R_OK) == 0 else {
            throw CommandError(
                "cannot read \(path.isEmpty ? "''" : path): \(SystemError.name(of: errno))",
                hint: "name an image with the code"
            )
        }
        guard let program = try? Executable(program) else {
            throw CommandError(
                "reading a QR code needs zbarimg, which is not installed",
                hint: "\(PackageManager.command(for: .zbar)); or pipe in the key that the site shows as text",
                exitCode: .notAvailable
            )
        }
        var output = try Pipe()
        // Not as an option, whatever the file's name is.
        let arguments = [
            Self.program, "--quiet", "--raw", "-Sdisable", "-Sqrcode.enable",
            path.hasPrefix("/") ? path : "./" + path,
        ]
        let nothing = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(nothing) }
        let child = try ChildProgram(
            program.path,
            arguments,
            input: nothing,
            output: output.writeEnd,
            errors: nothing
        )
        output.closeWriteEnd()
        let text = try Descriptor.read(output.readEnd, upTo: longestOutput)
        output.closeReadEnd()
        let status = child.wait()
        guard status == 0, let text else { throw unreadable(path) }
        return try text.withOctets { octets throws(CommandError) in
            guard let end = octets.indices.first(where: { octets[$0] == 0x0A }) else {
                throw unreadable(path)
            }
            guard end == octets.count - 1 else {
                throw CommandError(
                    "\(path): there is more than one QR code",
                    hint: "cut the image to the one"
                )
            }
            return try CommandMemory.copy(octets.extracting(..<end))
        }
    }

    private static func unreadable(_ path: String) -> CommandError {
        CommandError("\(path): no QR code is found", hint: "pipe in the key that the site shows as text")
    }
}
