package import KeychainModel

/// Gives who asks the access groups whose items it sees.
///
/// Its own is the path of the program: a hint, since programs of one user can imitate each other. What
/// really protects an item from them is its access control. Others come from a manifest alone. Programs that cannot
/// be told share one group.
package struct ClientIdentity: Sendable {
    /// The group of the daemon's own `touchstone`, so that its items survive a move or an upgrade.
    package static let ownGroup = "touchstone"
    /// The group of all programs whose path cannot be told.
    package static let unknownGroup = "unknown"

    private let ownProgram: String?
    private let ownHasFormerGroup: Bool
    private let manifest: AccessGroupManifest

    /// Knows the `touchstone` with this path; nil for none.
    ///
    /// `ownHasFormerGroup` says that it was known by its path once, and has items in the group of that name.
    package init(
        ownProgram: String?,
        ownHasFormerGroup: Bool = false,
        manifest: AccessGroupManifest = AccessGroupManifest()
    ) {
        self.ownProgram = ownProgram
        self.ownHasFormerGroup = ownHasFormerGroup
        self.manifest = manifest
    }

    /// Who asks, by what a door found out.
    ///
    /// - Parameters:
    ///   - uid: the user.
    ///   - pid: the process.
    ///   - processStart: when that started, in clock ticks since boot; 0 when unknown.
    ///   - program: its path; nil where it cannot be told for sure.
    ///   - fault: why nobody could look which program it is; nil where somebody did.
    ///   - role: whose methods it may call.
    ///   - isStill: looks whether the process still runs that program; nil where it cannot be told.
    /// - Returns: who asks, with the groups that it may use.
    package func asker(
        uid: UInt32,
        pid: Int32,
        processStart: UInt64,
        program: String?,
        fault: DriverCause? = nil,
        role: AskerRole = .app,
        isStill: (@Sendable () -> Bool)?
    ) -> Asker {
        let caller = Caller(
            uid: uid,
            pid: pid,
            processStart: processStart,
            program: program,
            accessGroup: group(of: program)
        )
        return Asker(
            caller,
            role: role,
            groups: groups(of: caller),
            unknownGroup: group(of: nil),
            fault: fault,
            isStill: isStill
        )
    }

    /// The groups that a caller may use.
    private func groups(of caller: Caller) -> EntitledGroups {
        // What a program stored before it was granted a group of its own stays within reach.
        let former = caller.program.flatMap { program in
            program == ownProgram && !ownHasFormerGroup ? nil : AccessGroup(program)
        }
        return EntitledGroups(
            own: caller.accessGroup,
            granted: manifest.groups(of: caller.program) + (former.map { [$0] } ?? [])
        )
    }

    private func group(of program: String?) -> AccessGroup {
        let name: String =
            switch program {
            case nil: Self.unknownGroup
            case ownProgram: Self.ownGroup
            case .some(let path): manifest.ownGroup(of: path)?.name ?? path
            }
        guard let group = AccessGroup(name) ?? AccessGroup(Self.unknownGroup) else {
            preconditionFailure("a constant name is a valid name")
        }
        return group
    }
}
