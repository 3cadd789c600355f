/// Checks who keeps the secrets of other programs.
enum ServiceSecretsCheck {
    /// The program that has the name on the session bus, and what follows from it; nil where the door is not installed.
    static func finding() -> Finding? {
        let part = "other programs"
        do throws(CommandError) {
            guard let program = try? SecretsDoorProgram.path() else { return nil }
            let isEnabled = ServiceFiles.isOurs(try ServiceFiles.all(program)[0]) == true
            switch (try SecretsDoorProgram.owner(), isEnabled) {
            case (.touchstone(let process), _):
                return .ok(part, "keep their secrets here: touchstone-secrets, process \(process)")
            case (.other(let name, let process), true):
                return .warn(
                    part,
                    "\(Printable.text(name)), process \(process), keeps their secrets although this keychain is to",
                    "end that program, or log out and in: touchstone secrets status"
                )
            case (.other(let name, let process), false):
                return .ok(
                    part,
                    "\(Printable.text(name)), process \(process), keeps their secrets; touchstone secrets enable takes over"
                )
            case (.nobody, true): return .ok(part, "keep their secrets here, from the first that asks")
            case (.nobody, false):
                return .ok(part, "have nobody to keep their secrets; touchstone secrets enable does")
            case (.noBus, _): return .ok(part, "have no session bus here, so that nobody keeps their secrets")
            }
        } catch {
            return .warn(part, error.message, error.hint ?? "touchstone secrets status")
        }
    }
}
