import SecretMemory

/// A program's response to one command.
struct AssuanAnswer: ~Copyable {
    /// The code of `ERR`; nil for `OK`.
    let error: PinentryCode?
    /// The keywords of the `S` lines before it.
    let statuses: Set<String>
    /// The payloads of the `D` lines, decoded; empty after an error.
    let data: SecretBytes

    /// Hands the data over to the caller.
    consuming func takeData() -> SecretBytes { data }
}
