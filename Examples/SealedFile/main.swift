// Seals a file as FILE.sealed without a prompt, and opens it after a prompt: seal FILE, open FILE.
import Foundation
import Touchstone

/// The device's key; created for the first file.
func sealingKey() async throws(TouchstoneError) -> DeviceSealingKey {
    do {
        return try await DeviceSealingKey.find("com.example.files")
    } catch {
        guard error.code == .notFound else { throw error }
        // Not for fingers only: enrolling a finger must not cost the user the files.
        return try await DeviceSealingKey.create("com.example.files", rule: .biometryOrPasscode)
    }
}

let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count == 2, ["seal", "open"].contains(arguments[0]) else {
    print("usage: SealedFile seal FILE | open FILE")
    exit(2)
}
let file = URL(filePath: arguments[1])
let sealed = file.appendingPathExtension("sealed")
/// Binds the sealed data to the file's name: under another name it does not open.
let context = Data(file.lastPathComponent.utf8)
do {
    if arguments[0] == "seal" {
        let key = try await sealingKey()
        try await key.seal(Data(contentsOf: file), context: context).write(to: sealed)
        print("sealed")
    } else {
        let key = try await DeviceSealingKey.find("com.example.files")
        let data = try await key.open(
            Data(contentsOf: sealed),
            context: context,
            PromptText("Open \(file.lastPathComponent)")
        )
        print(String(decoding: data, as: UTF8.self), terminator: "")
    }
} catch let error as TouchstoneError {
    print("\(error.message()) \(error.advice())")
    exit(1)
} catch {
    print("\(file.lastPathComponent): \(error.localizedDescription)")
    exit(1)
}
