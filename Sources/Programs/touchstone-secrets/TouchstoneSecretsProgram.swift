import TouchstoneSecrets

/// Serves the keychain as `org.freedesktop.secrets` on the session bus.
@main
enum TouchstoneSecretsProgram {
    static func main() { SecretsProgram.main() }
}
