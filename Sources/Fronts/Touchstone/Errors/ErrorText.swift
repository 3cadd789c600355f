import Foundation

extension TouchstoneError {
    /// The error as a sentence for the app's user.
    ///
    /// - Parameter language: a BCP 47 tag such as `tr` or `zh-Hans`; nil for the process's language. English, Turkish,
    ///   Chinese and Japanese are available; other languages get English.
    /// - Returns: the sentence; the code's name for a code unknown to this version.
    public func message(in language: String? = nil) -> String {
        let texts = ErrorTexts.chosen(language)
        // A code of a newer version has no sentence here; show its name.
        return texts.messages[code] ?? "\(texts.unknown) (\(code.rawValue))"
    }

    /// What the app's user can do, as a sentence.
    ///
    /// - Parameter language: as for ``message(in:)``.
    /// - Returns: the sentence, for the step in ``nextStep``.
    public func advice(in language: String? = nil) -> String {
        let texts = ErrorTexts.chosen(language)
        if nextStep == .wait, let retryAfter {
            let seconds = retryAfter.components.seconds + (retryAfter.components.attoseconds > 0 ? 1 : 0)
            return texts.waitSeconds.replacingOccurrences(of: "%", with: "\(seconds)")
        }
        return texts.advice[nextStep] ?? texts.advice[.askForHelp] ?? nextStep.rawValue
    }
}

/// All sentences in one language.
struct ErrorTexts: Sendable {
    /// The language's primary subtag, which is compared.
    let language: String
    /// One sentence for each code.
    let messages: [TouchstoneError.Code: String]
    /// One sentence for each step.
    let advice: [TouchstoneError.NextStep: String]
    /// The step ``TouchstoneError/NextStep/wait`` with `%` in place of the seconds.
    let waitSeconds: String
    /// The sentence for a code without one of its own.
    let unknown: String

    /// The available languages; English is the fallback.
    static let all: [ErrorTexts] = [.english, .turkish, .chinese, .japanese]

    /// The texts for a language; for the process's language if nil.
    static func chosen(_ language: String?) -> ErrorTexts {
        guard let language else { return ofProcess }
        return matching(language) ?? english
    }

    /// The texts for a BCP 47 tag or a POSIX locale: `tr`, `zh-Hans-CN`, `ja_JP.UTF-8`.
    static func matching(_ tag: String) -> ErrorTexts? {
        let primary = tag.prefix { $0 != "-" && $0 != "_" && $0 != "." && $0 != "@" }.lowercased()
        return all.first { $0.language == primary }
    }

    /// The process's language, looked up once.
    private static let ofProcess = matching(processLanguage(ProcessInfo.processInfo.environment)) ?? english

    /// The language for messages: on Linux by POSIX's order of variables, elsewhere the user's first preferred
    /// language.
    static func processLanguage(_ environment: [String: String]) -> String {
        #if os(Linux)
            return ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
                ?? "C"
        #else
            return Locale.preferredLanguages.first ?? "en"
        #endif
    }
}
