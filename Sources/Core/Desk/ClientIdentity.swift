package import KeychainModel

/// Assigns callers the access groups whose items they may see.
///
/// A caller's own group is the path of its program: a hint, since programs of one user can impersonate each other. An
/// item's access control is its real protection from them. Further groups come only from a manifest. Programs that cannot
/// be identified share one group.
package struct ClientIdentity: Sendable {
    /// The group of the daemon's own `touchstone`, so that its items survive a move or an upgrade.
    package static let ownGroup = "touchstone"
    /// The group of all programs whose path is unknown.
    package static let unknownGroup = "unknown"

    private let ownProgram: String?
    private let doorProgram: String?
    private let ownHasFormerGroup: Bool
    private let manifest: AccessGroupManifest

    /// Creates the assignment; `ownProgram` is the path of `touchstone`, `doorProgram` that of `touchstone-secrets`, nil for none.
    ///
    /// `ownHasFormerGroup` says that this command was identified by its path once, and has items in the group of that
    /// name.
    package init(
        ownProgram: String?,
        doorProgram: String? = nil,
        ownHasFormerGroup: Bool = false,
        manifest: AccessGroupManifest = AccessGroupManifest()
    ) {
        self.ownProgram = ownProgram
        self.doorProgram = doorProgram
        self.ownHasFormerGroup = ownHasFormerGroup
        self.manifest = manifest
    }

    /// Identifies a caller by what a door found out.
    ///
    /// - Parameters:
    ///   - uid: the user.
    ///   - pid: the process id.
    ///   - processStart: the process's start time in clock ticks since boot; 0 if unknown.
    ///   - program: the program's path; nil if it cannot be determined reliably.
    ///   - fault: why the program could not be looked up; nil if it could.
    ///   - role: the role that decides its methods.
    ///   - door: the door that it came by, which decides the groups that it may use beside its own.
    ///   - isStill: checks whether the process still runs that program; nil if that cannot be determined.
    ///   - startedBy: determines ``Caller/startedBy``.
    /// - Returns: the caller's identity with the groups it may use.
    package func asker(
        uid: UInt32,
        pid: Int32,
        processStart: UInt64,
        program: String?,
        fault: DriverCause? = nil,
        role: AskerRole = .app,
        door: Caller.Door? = nil,
        isStill: (@Sendable () -> Bool)?,
        startedBy: @escaping @Sendable () -> String = { "" }
    ) -> Asker {
        let caller = Caller(
            uid: uid,
            pid: pid,
            processStart: processStart,
            program: program,
            accessGroup: group(of: program),
            door: door
        )
        return Asker(
            caller,
            role: role,
            groups: groups(of: caller),
            unknownGroup: group(of: nil),
            fault: fault,
            mayRepresent: role == .door || program != nil && program == doorProgram,
            isStill: isStill,
            startedBy: startedBy
        )
    }

    /// A program for which the Secret Service asks, and the groups that it may use there.
    package func represented(
        uid: UInt32,
        pid: Int32,
        _ look: ProgramLook
    ) -> Asker {
        let caller = Caller(
            uid: uid,
            pid: pid,
            processStart: look.processStart,
            program: look.program?.file.path,
            accessGroup: .secretService,
            door: .secretService
        )
        // A program that could not be looked up has no name, and the items of the Secret Service all the same.
        return Asker(
            caller,
            role: .door,
            groups: EntitledGroups(own: .secretService, granted: []),
            unknownGroup: .secretService,
            fault: nil,
            file: look.program?.file,
            isStill: look.program?.isStill,
            startedBy: look.startedBy
        )
    }

    /// The groups that a caller may use.
    private func groups(of caller: Caller) -> EntitledGroups {
        // Items stored before the program was granted a group of its own stay accessible.
        let former = caller.program.flatMap { program in
            program == ownProgram && !ownHasFormerGroup ? nil : AccessGroup(program)
        }
        let isOwn = caller.program != nil && caller.program == ownProgram
        return EntitledGroups(
            own: caller.accessGroup,
            granted: manifest.groups(of: caller.program) + (former.map { [$0] } ?? []),
            onRequest: isOwn ? [NamedKey.group, .secretService] : [],
            // Each use of a key is under the key's own rule, with a prompt that a door or the desk words.
            readOnly: isOwn ? [NamedKey.group, .reads] : [NamedKey.group]
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
