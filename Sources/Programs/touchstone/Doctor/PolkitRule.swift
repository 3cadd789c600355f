import KeychainModel

/// The polkit rule that lets fprintd verify this user where polkit refuses it, as over SSH.
enum PolkitRule {
    private static let file = "/etc/polkit-1/rules.d/50-touchstone.rules"

    /// The finding that polkit refuses the sensor, with the rule to add.
    static func finding(_ text: String) -> Finding {
        // A name that the rule's quotes would not hold is left to its reader.
        let name = Owner.ofThisProcess().name ?? ""
        let user = !name.isEmpty && ShellWord.escaped(name) == name ? name : "USER"
        return .fail(
            "sensor",
            text,
            """
            polkit refuses it here: use a local session, or have root make \(file):
            polkit.addRule(function(action, subject) {
                if (subject.user == "\(user)" &&
                    action.id ==
                    "net.reactivated.fprint.device.verify")
                    return polkit.Result.YES;
            });
            """
        )
    }
}
