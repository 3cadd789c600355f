/// The errors with which a keychain stays in its place.
extension KeychainMove {
    var notEnabled: MoveError {
        MoveError(.notEnabled, "the keychain is not in system mode", hint: "sudo touchstone system enable")
    }

    var twoKeychains: MoveError {
        MoveError(
            .twoKeychains,
            "there are two keychains: \(places.keptDirectory) is in use, but \(places.userDirectory) has another",
            hint: "move the one in \(places.userDirectory) elsewhere, for example where a backup belongs"
        )
    }

    var lost: MoveError {
        MoveError(
            .lost,
            "the keychain was moved to \(places.keptDirectory), but is missing there",
            hint:
                "bring a backup of that directory back; to begin anew without it, remove \(places.userDirectory)/moved"
        )
    }

    var withoutKeybag: MoveError {
        MoveError(
            .notWhole,
            "\(places.userDirectory) has items and no keybag, without which they do not open; nothing was changed",
            hint: "bring a backup of that directory back, or move it elsewhere to begin anew"
        )
    }

    /// Neither keychain is active; a complete copy is still in the account's directory.
    var notBack: MoveError {
        MoveError(
            .notWhole,
            "what came back to \(places.userDirectory) is not whole any more",
            hint: "sudo touchstone system enable undoes it; then run this again"
        )
    }

    func missing(from path: String) -> MoveError {
        MoveError(
            .lost,
            "the keychain is not whole in \(path); nothing was removed",
            hint: "touchstone system status"
        )
    }
}
