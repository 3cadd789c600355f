import CLibFuzzer
import Glibc

/// Fuzzes one target with libFuzzer, or writes the seeds.
@main
enum Fuzz {
    /// Set once by the first argument; libFuzzer's callback has no context parameter.
    private static let target = CommandLine.arguments.dropFirst().first.flatMap(FuzzTargets.named)

    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.first {
        case "list"? where arguments.count == 1:
            for target in FuzzTargets.all { print(target.name) }
        case "make-seeds"? where arguments.count == 2:
            try SeedFiles.write(to: arguments[1])
        case _? where target != nil:
            runDriver(["fuzz"] + arguments.dropFirst())
        default:
            print("usage: fuzz list | make-seeds DIRECTORY | TARGET [LIBFUZZER-ARGUMENT...]")
            exit(64)
        }
    }

    /// Runs libFuzzer, which keeps the arguments as long as the process lives.
    private static func runDriver(_ arguments: [String]) -> Never {
        var count = CInt(arguments.count)
        let values = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(
            capacity: arguments.count + 1
        )
        for (index, argument) in arguments.enumerated() { unsafe values[index] = strdup(argument) }
        unsafe values[arguments.count] = nil
        var list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe values
        let result = unsafe LLVMFuzzerRunDriver(&count, &list) { octets, count in
            let input = unsafe UnsafeBufferPointer(start: octets, count: count)
            Fuzz.target?.run(unsafe input.span)
            return 0
        }
        exit(result)
    }
}
