import Glibc
import KeychainModel

/// The pinentry program, found by absolute path, never through `PATH` or a user's configuration.
public struct PinentryProgram: Sendable {
    private let candidates: [String]
    private let checksOwner: Bool

    /// The paths to try, in order.
    public init(_ candidates: [String] = ["/usr/bin/pinentry"]) {
        self.candidates = candidates
        checksOwner = true
    }

    private init(unchecked path: String) {
        candidates = [path]
        checksOwner = false
    }

    /// A program that any user may own, for tests; all other checks stay.
    public static func testing(_ path: String) -> PinentryProgram { PinentryProgram(unchecked: path) }

    /// Why none of the candidates can be executed; nil if one can.
    public func fault() -> String? {
        do throws(PromptError) {
            _ = try resolve()
            return nil
        } catch {
            return error.detail
        }
    }

    /// The path to execute, with symbolic links resolved: the first candidate that only root can replace.
    ///
    /// - Throws: ``PromptError`` with `prompterMissing` and the fault of each candidate.
    func resolve() throws(PromptError) -> String {
        var faults: [String] = []
        for candidate in candidates {
            switch examine(candidate) {
            case .success(let path): return path
            case .failure(let fault): faults.append("\(candidate): \(fault.reason)")
            }
        }
        throw PromptError(.prompterMissing, detail: faults.joined(separator: "; "))
    }

    private struct Fault: Error {
        let reason: String
    }

    private func examine(_ candidate: String) -> Result<String, Fault> {
        guard candidate.hasPrefix("/") else { return .failure(Fault(reason: "not an absolute path")) }
        guard let resolved = unsafe realpath(candidate, nil) else {
            return .failure(Fault(reason: SystemError.name(of: errno)))
        }
        let path = unsafe String(cString: resolved)
        unsafe free(resolved)
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            return .failure(Fault(reason: SystemError.name(of: errno)))
        }
        guard status.st_mode & S_IFMT == S_IFREG else { return .failure(Fault(reason: "not a file")) }
        guard unsafe access(path, X_OK) == 0 else { return .failure(Fault(reason: "not executable")) }
        guard checksOwner else { return .success(path) }
        // Checks the file and every directory above it: a user who may write to one of them can replace the file.
        var place = path[...]
        while true {
            guard Self.isRootsAlone(place.isEmpty ? "/" : String(place)) else {
                return .failure(Fault(reason: "can be replaced by others than root"))
            }
            guard let slash = place.lastIndex(of: "/") else { return .success(path) }
            place = place[..<slash]
        }
    }

    private static func isRootsAlone(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return false }
        return status.st_uid == 0 && status.st_mode & (S_IWGRP | S_IWOTH) == 0
    }
}
