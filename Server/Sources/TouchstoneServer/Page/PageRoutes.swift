internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore

/// The account page: static files, which call the API like any other client.
enum PageRoutes {
    static let operations: [Operation] = [
        Operation(.get, "/", "page", .open) { service, call in
            let files = service.page
            let language = PageLanguage.of(call.request, configured: files?.language)
            return try reply(files?.page(in: language), call)
        },
        Operation(.get, "/assets/{name}", "pageFile", .open) { service, call in
            try reply(service.page?.asset(call.identifier("name")), call)
        },
    ]

    /// - Throws: ``Problem`` with `not_found`.
    private static func reply(_ file: PageFiles.File?, _ call: Call) throws(Problem) -> Reply {
        guard let file else { throw Problem(.notFound) }
        let known = (call.request.headers[.ifNoneMatch] ?? "").split(separator: ",").map {
            $0.drop { $0 == " " }.drop { $0 == "W" || $0 == "/" }
        }
        let isKnown = known.contains { $0 == file.tag || $0 == "*" }
        var reply = isKnown ? Reply(status: .notModified, body: .none) : .bytes(file.bytes, type: file.type)
        // Revalidated by the browser each time, with a short response if unchanged: a new version takes effect at once.
        reply.fields[.cacheControl] = "no-cache"
        reply.fields[.eTag] = file.tag
        if let language = file.language {
            reply.fields[.contentLanguage] = language.tag
            reply.fields[.vary] = "Accept-Language, Cookie"
        }
        for (name, value) in fields { reply.fields[name] = value }
        return reply
    }

    /// The page loads nothing from other origins, runs only its own scripts, and cannot be framed.
    static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
        form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; \
        trusted-types 'none'
        """

    private static let fields: [(HTTPField.Name, String)] = [
        (.contentSecurityPolicy, policy),
        (.known("Cross-Origin-Opener-Policy"), "same-origin"),
        (
            .known("Permissions-Policy"),
            "publickey-credentials-get=(self), publickey-credentials-create=(self), camera=(), geolocation=(), "
                + "microphone=(), payment=(), usb=()"
        ),
    ]
}
