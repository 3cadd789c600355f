public import KeychainModel

extension Keybag {
    /// Puts all files of the keychain aside; afterwards there is none, and one can be created.
    ///
    /// Nothing is removed, neither a file nor a part in hardware: with the files put back, the keychain is there again.
    /// - Returns: the name of the directory that has the files; nil if there were none.
    public func startOver() async throws(KeychainError) -> String? {
        await enterKeybag()
        defer { leaveKeybag() }
        forgetEscrow()
        standing.close()
        items.forget()
        let aside: String?
        do throws(KeychainError) {
            aside = try FormerFiles(in: directory).move()
        } catch {
            items.openAgain()
            throw error
        }
        standing = .notSetUp
        attempts.forget()
        if let aside { report(.keybagPutAside, detail: aside) }
        return aside
    }
}
