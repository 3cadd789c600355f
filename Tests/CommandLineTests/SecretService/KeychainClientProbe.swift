import KeychainClient
import KeychainModel

/// A program that is no door and says it asks for another one.
struct KeychainClientProbe {
    let layout: Layout

    /// The status with which a query fails whose connection names another program; nil if it does not.
    func status(representing process: Int32) -> Status? {
        let program = RepresentedProgram(process: process, start: ProcessStat(of: process)?.start ?? 0)
        let keychain = RemoteKeychain(layout: layout, daemon: .none).representing(program)
        let query = ItemQuery(
            itemClass: .genericPassword,
            attributes: [.accessGroup: .string(AccessGroup.secretService.name)]
        )
        do throws(KeychainError) {
            _ = try keychain.copy(CopyItems(query: query, prompt: PromptFields()))
            return nil
        } catch {
            return error.status
        }
    }
}
