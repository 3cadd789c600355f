/// Why a keychain stays where it is.
extension KeychainMove {
    var notEnabled: MoveError {
        MoveError(.notEnabled, "the keychain is not in system mode", hint: "sudo touchstone system enable")
    }

    var twoKeychains: MoveError {
        MoveError(
            .twoKeychains,
            "there are two keychains: \(places.keptDirectory) counts, and \(places.userDirectory) has another",
            hint: "move the one in \(places.userDirectory) elsewhere, for example where a backup belongs"
        )
    }

    var lost: MoveError {
        MoveError(
            .lost,
            "the keychain went to \(places.keptDirectory), and is not there",
            hint:
                "bring a backup of that directory back; to begin anew without it, remove \(places.userDirectory)/moved"
        )
    }

    func missing(from path: String) -> MoveError {
        MoveError(
            .lost,
            "the keychain is not in \(path) any more; nothing was removed",
            hint: "touchstone system status"
        )
    }
}
