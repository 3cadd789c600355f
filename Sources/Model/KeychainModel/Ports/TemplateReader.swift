/// Tells the templates of a user's enrolled fingers from others: one that may reads fprintd's files, another asks the broker.
public protocol TemplateReader: Sendable {
    /// Looks at the templates now.
    ///
    /// - Parameter expectingSome: fprintd says that fingers are enrolled.
    /// - Returns: what can be told of them.
    func templates(expectingSome: Bool) async -> Enrolment.Templates
}
