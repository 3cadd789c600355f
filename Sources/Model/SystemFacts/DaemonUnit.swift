/// The unit of system mode's daemons, by which the broker distinguishes users' daemons, which share an account.
///
/// The service manager puts each process of a unit into the unit's control group, and the kernel keeps it and its
/// children there: moving one needs write access to root's files below `/sys/fs/cgroup`.
package enum DaemonUnit {
    private static let prefix = "touchstoned@"
    private static let suffix = ".service"

    /// The user whose daemon runs in a control group; nil for a process of any other unit.
    ///
    /// - Parameter text: The content of `/proc/PID/cgroup`: a line `NUMBER:CONTROLLERS:PATH` for each hierarchy,
    ///   cgroups(7). The service manager's are `0::` and, beside older controllers, `name=systemd`.
    /// - Returns: the user; nil also if the hierarchies disagree.
    package static func owner(in text: String) -> UInt32? {
        var owners: Set<UInt32> = []
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0] == "0" && parts[1].isEmpty || parts[1] == "name=systemd" else {
                continue
            }
            if let owner = owner(ofPath: parts[2]) { owners.insert(owner) }
        }
        return owners.count == 1 ? owners.first : nil
    }

    private static func owner(ofPath path: Substring) -> UInt32? {
        let names = path.split(separator: "/", omittingEmptySubsequences: false)
        // Below the users' slice, a user's own service manager chooses the names.
        guard names.count > 2, names[0].isEmpty, names[1] != "user.slice", let unit = names.last,
            unit.hasPrefix(prefix), unit.hasSuffix(suffix)
        else { return nil }
        let number = unit.dropFirst(prefix.count).dropLast(suffix.count)
        // One spelling for each uid: no leading zero, no sign.
        guard let uid = UInt32(number), "\(uid)" == number else { return nil }
        return uid
    }
}
